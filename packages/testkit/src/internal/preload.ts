/**
 * Loaded into every process that the testkit starts, before the service's own entry. What to do is in the variable
 * `HOLDFAST_TESTKIT`, as JSON.
 */
import type { Step } from "@holdfast/lock/step"

const fs = process.getBuiltinModule("node:fs")

export interface Orders {
  /** Directory for barrier, marks and lists of loaded modules. */
  readonly scratch: string
  /** Nothing is run before this file exists. */
  readonly go: string
  readonly crashAt?: string
}

const orders = JSON.parse(process.env["HOLDFAST_TESTKIT"] ?? "null") as Orders | null

const pause = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

if (orders !== null) {
  const mark = (name: string, text: string) => fs.appendFileSync(`${orders.scratch}/${name}-${process.pid}`, text)
  ;(globalThis as { [key: symbol]: unknown })[Symbol.for("@holdfast/step")] = (step: Step) => {
    mark("steps", `${step}\n`)
    if (step === orders.crashAt) process.kill(process.pid, "SIGKILL")
  }
  // Bun has no such hook: there the list stays empty, and a test that needs it says so
  const { registerHooks } = process.getBuiltinModule("node:module")
  registerHooks?.({
    load: (url, context, next) => {
      mark("modules", `${url}\n`)
      return next(url, context)
    }
  })
  mark("waiting", "")
  while (!fs.existsSync(orders.go)) pause(1)
}
