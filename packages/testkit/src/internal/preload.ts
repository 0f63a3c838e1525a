/**
 * Loaded into every process that the testkit starts or lets a client start, before the service's own entry: it notes what
 * the process comes to, and crashes it where a test wants it. What to do before it begins is in the variable
 * `HOLDFAST_TESTKIT`, as JSON; a process that a client started has none, and is told by its state directory where to note.
 */
import type { Step } from "@holdfast/lock/step"
import { stamp } from "./stamp.ts"

const fs = process.getBuiltinModule("node:fs")

export interface Orders {
  /** Directory for the barrier and the marks. */
  readonly scratch: string
  /** Nothing is run before this file exists. */
  readonly go: string
  readonly crashAt?: string
}

/** Beside the state directory that the client named. */
const scratchBeside = (handOver: string | undefined): string | undefined => {
  const directory = (JSON.parse(handOver ?? "{}") as { readonly directory?: string }).directory
  return directory?.replace(/[^/]+$/, "scratch")
}

const orders = JSON.parse(process.env["HOLDFAST_TESTKIT"] ?? "null") as Orders | null
const scratch = orders?.scratch ?? scratchBeside(process.env["HOLDFAST_SERVICE"])

const pause = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/** What this process is told to do to itself at a step: by a file for it alone, by one for all, or by its start. */
const orderedAt = (step: Step): NodeJS.Signals | undefined => {
  for (const file of [`at-${process.pid}`, "at"]) {
    try {
      const [signal, at] = fs.readFileSync(`${scratch}/${file}`, "utf8").split(" ")
      if (at === step) return signal as NodeJS.Signals
    } catch {
      continue
    }
  }
  return step === orders?.crashAt ? "SIGKILL" : undefined
}

if (scratch !== undefined && fs.existsSync(scratch)) {
  const mark = (kind: string, text: string) => {
    try {
      fs.appendFileSync(`${scratch}/marks-${process.pid}`, `${stamp()} ${kind} ${text}\n`)
    } catch {
      // the test is over, and its directory gone
    }
  }
  mark("came", orders === null ? "contender" : "swarm")
  ;(globalThis as { [key: symbol]: unknown })[Symbol.for("@holdfast/step")] = (step: Step) => {
    mark("step", step)
    const signal = orderedAt(step)
    if (signal === undefined) return
    mark("signal", signal)
    process.kill(process.pid, signal)
  }
  process.on("exit", (code) => mark("exit", `${code} ${process.resourceUsage().maxRSS}`))
  if (orders !== null) {
    // Bun has no such hook: there the list stays empty, and a test that needs it says so
    const { registerHooks } = process.getBuiltinModule("node:module")
    registerHooks?.({
      load: (url, context, next) => {
        mark("module", url)
        return next(url, context)
      }
    })
    fs.appendFileSync(`${scratch}/waiting-${process.pid}`, "")
    while (!fs.existsSync(orders.go)) pause(1)
  }
}
