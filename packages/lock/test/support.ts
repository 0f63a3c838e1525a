/** What the tests of this package share: directories of their own, other processes, and waiting with a deadline. */
import { Effect, type Scope } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as readline from "node:readline"
import * as url from "node:url"

export const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-lock-")))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

/** Looks every 5 ms; dies with the sentence at the deadline. */
export const until = (sentence: string, condition: () => boolean, withinMs = 5000): Effect.Effect<void> =>
  Effect.promise(async () => {
    const deadline = performance.now() + withinMs
    while (!condition()) {
      if (performance.now() > deadline) throw new Error(`Waited ${withinMs} ms until ${sentence}.`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })

const here = path.dirname(url.fileURLToPath(import.meta.url))

export interface Runtime {
  readonly name: "node 22" | "this node" | "node 26" | "bun"
  readonly command: string
  /** Present on this machine: the others come with `npm run runtimes`. */
  readonly installed: boolean
}

const extra = (name: Runtime["name"], ...place: ReadonlyArray<string>): Runtime => {
  const command = path.resolve(here, "../../../runtimes/node_modules", ...place)
  return { name, command, installed: fs.existsSync(command) }
}

/** What the name of a test says that is skipped where this runtime is not installed. */
export const lacking = ({ installed, name }: Runtime): string =>
  installed ? "" : ` (${name} is not installed: npm run runtimes)`

export const thisNode: Runtime = { name: "this node", command: process.execPath, installed: true }

export const runtimes: ReadonlyArray<Runtime> = [
  thisNode,
  extra("node 22", `node22-${process.platform}-${process.arch}`, "bin/node"),
  extra("node 26", `node26-${process.platform}-${process.arch}`, "bin/node"),
  extra("bun", `@oven/bun-${process.platform}-${process.arch === "arm64" ? "aarch64" : process.arch}`, "bin/bun")
]

export interface Hands {
  readonly pid: number
  /** Calls a function of a module of this package over there; its value, or `{ error }`. Dies when there is no answer. */
  readonly call: (module: string, name: string, ...args: ReadonlyArray<unknown>) => Effect.Effect<any>
  readonly signal: (name: NodeJS.Signals) => Effect.Effect<void>
  /** Resolves with the signal or code the process ended with. */
  readonly ended: Effect.Effect<NodeJS.Signals | number | null>
}

export interface HandsOptions {
  readonly runtime?: Runtime
  /** Besides PATH and HOME; `undefined` unsets one. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** A command in front of the runtime, which replaces itself by it: `setpriv …`, `sh -c '…; exec "$@"' sh`. */
  readonly before?: ReadonlyArray<string>
  /** A descriptor of ours that becomes its descriptor 3. */
  readonly inherit?: number
}

/** Another process of this machine, ended by its own pid with the scope. */
export const hands = (options: HandsOptions = {}): Effect.Effect<Hands, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runtime = options.runtime ?? thisNode
    const [command, ...args] = [...(options.before ?? []), runtime.command, path.join(here, "fixture/hands.ts")]
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        childProcess.spawn(command!, args, {
          env: {
            PATH: process.env["PATH"] ?? "",
            HOME: process.env["HOME"] ?? "/",
            NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "",
            ...options.env
          },
          stdio: ["pipe", "pipe", "pipe", options.inherit ?? "ignore"]
        })
      ),
      (child) =>
        Effect.promise(async () => {
          if (child.exitCode !== null || child.signalCode !== null) return
          const gone = new Promise((resolve) => child.once("exit", resolve))
          child.kill("SIGKILL")
          await gone
        })
    )
    const ended = new Promise<NodeJS.Signals | number | null>((resolve) =>
      child.once("exit", (code, signal) => resolve(signal ?? code))
    )
    let complaints = ""
    child.stderr!.on("data", (chunk: Buffer) => (complaints += chunk.toString()))
    child.stdin!.on("error", () => undefined)
    const waiting: Array<(line: string | undefined) => void> = []
    const lines = readline.createInterface({ input: child.stdout! })
    lines.on("line", (line) => waiting.shift()?.(line))
    lines.on("close", () => waiting.splice(0).forEach((tell) => tell(undefined)))
    return {
      pid: child.pid!,
      call: (module, name, ...rest) =>
        Effect.promise(async () => {
          const answer = new Promise<string | undefined>((resolve) => waiting.push(resolve))
          child.stdin!.write(`${JSON.stringify({ module, name, args: rest })}\n`)
          const late = AbortSignal.timeout(15_000)
          const line = await Promise.race([
            answer,
            new Promise<undefined>((resolve) => late.addEventListener("abort", () => resolve(undefined)))
          ])
          if (line === undefined) throw new Error(`${module}.${name} was not answered. ${complaints}`)
          const { error, value } = JSON.parse(line)
          return error === undefined ? value : { error }
        }),
      signal: (name) => Effect.sync(() => void child.kill(name)),
      ended: Effect.promise(() => ended)
    }
  })

/** Whether a program can be run here; tests that need one skip, with its name in their title, where it is missing. */
export const has = (program: string): boolean =>
  childProcess.spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined

export const asNobody: ReadonlyArray<string> = ["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"]
export const mayBecomeNobody: boolean = process.geteuid?.() === 0 && has("setpriv")

/** Runs a preparation as root in a mount namespace of its own, then the rest of the command. */
export const inOwnMounts = (prepare: string): ReadonlyArray<string> => [
  "unshare",
  "-m",
  "sh",
  "-c",
  `${prepare} && exec "$@"`,
  "sh"
]
export const mayMount: boolean =
  process.geteuid?.() === 0 &&
  childProcess.spawnSync("unshare", ["-m", "mount", "-t", "tmpfs", "none", "/mnt"], { stdio: "ignore" }).status === 0

/** An identity as recorded elsewhere: by another boot, on a machine of that name. */
export const recordedOn = <A extends { readonly startIdentity: string }>(host: string, identity: A): A => ({
  ...identity,
  startIdentity: identity.startIdentity.replace(/^[^/]+/, "another-boot"),
  host
})

/** The same with the start time changed. */
export const startedAt = <A extends { readonly startIdentity: string }>(
  change: (ticks: number) => number,
  identity: A
): A => {
  const [boot, namespace, ticks, machine] = identity.startIdentity.split("/")
  return { ...identity, startIdentity: [boot, namespace, change(Number(ticks)), machine].join("/") }
}
