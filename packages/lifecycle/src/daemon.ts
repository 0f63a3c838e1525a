/**
 * A service's process: the gate first, everything else after it.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import * as ExitCode from "@holdfast/lock/ExitCode"
import { enter, type GateOutcome } from "@holdfast/lock/gate"
import { InvalidKey, paths as pathsOf, type ServicePaths } from "@holdfast/lock/ServicePaths"
import { step } from "@holdfast/lock/step"
import * as StateDirectory from "@holdfast/lock/StateDirectory"
import type { ApplicationModule } from "./ManagedService.ts"
import { enable as cacheCompiled } from "./internal/compileCache.ts"
import { type StartupPipe, startupPipe } from "./internal/startupPipe.ts"
import type { ServiceSpec } from "./ServiceSpec.ts"
import { type HandOver, parseHandOver, type StartupOutcome, variable } from "./StartupOutcome.ts"

/**
 * Runs the service that `spec` names, in this process, when it is the one that may.
 *
 * **Details** The order is fixed: state directory, lock, shell, registration, and only then is the application
 * imported, so that a contender that loses loads neither Effect nor the application. Resolves with the exit code of a
 * contender that lost (0) or could not own; as an owner it ends the process when the service was stopped. Exit codes
 * are in docs/exit-codes.md.
 *
 * **Gotchas** Import the application only in the function, never at the top of the daemon's module.
 *
 * **When to use** As the only thing that the module named by the spec's `entry` does.
 *
 * **Example**
 *
 * ```ts
 * import { runDaemon } from "@holdfast/lifecycle/daemon"
 * import { define } from "@holdfast/lifecycle/ServiceSpec"
 *
 * const hello = define({ app: "hello", version: "1.0.0", entry: new URL(import.meta.url) })
 * export const main = () => runDaemon(hello, () => import("./application.ts"))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const runDaemon = async (spec: ServiceSpec, application: ApplicationModule): Promise<number> => {
  process.on("SIGHUP", () => undefined) // a service outlives the terminal it was started from
  const found = resolve(spec)
  if (!("paths" in found)) return leave(ExitCode.usage, found, undefined)
  const { handOver, paths, resolved } = found
  const pipe = startupPipe(handOver?.pipe, handOver?.spawnLock)
  const problem = StateDirectory.prepare(paths.directory)
  if (problem !== undefined) {
    return leave(ExitCode.cannotCreate, { type: "unusable", kind: "directory", ...problem }, pipe)
  }
  process.chdir(paths.directory)
  step("before-lock")
  const fenced = resolved.policy === "fenced"
  // in `fenced` neither the note nor a refused lock says who owns: the lease and its holder are asked
  const outcome = await enter(paths.lock, fenced ? { retryForMs: 0 } : { note: paths.owner })
  if (outcome._tag !== "Acquired" && !(fenced && outcome._tag !== "Failed")) {
    return leave(codeOf(outcome._tag, handOver), saidOf(outcome), pipe)
  }
  step("after-lock")
  cacheCompiled(paths)
  const { own } = await import("./internal/own.ts")
  const lock = outcome._tag === "Acquired" ? outcome.lock : undefined
  const { foreground = false, unasked = false } = handOver ?? {}
  return own(lock, { spec: resolved, paths, pipe, foreground, unasked, application, leave })
}

type Refused = Exclude<GateOutcome, { readonly _tag: "Acquired" }>

const codeOf = (tag: Refused["_tag"], handOver: HandOver | undefined): number => {
  switch (tag) {
    case "Held":
      // a contender that lost did its part; a person who asked for a foreground service did not get it
      return handOver?.foreground === true ? ExitCode.unavailable : ExitCode.ok
    case "Unsupported":
      return ExitCode.unsupported
    case "Failed":
      return ExitCode.cannotCreate
  }
}

const saidOf = (outcome: Refused): StartupOutcome => {
  if (outcome._tag === "Held") {
    return outcome.holder === undefined ? { type: "held" } : { type: "held", pid: outcome.holder.pid }
  }
  const { action, message, path } = outcome
  return { type: "unusable", kind: "lock", path, message, action }
}

/** Says why this process is not the owner, and lets it end. */
const leave = (code: number, outcome: StartupOutcome, pipe: StartupPipe | undefined): number => {
  pipe?.announce(outcome)
  pipe?.close()
  if (outcome.type === "unusable") say(`${outcome.message} ${outcome.action}`)
  if (outcome.type === "held") say(`Already running${outcome.pid === undefined ? "" : ` with PID ${outcome.pid}`}.`)
  process.exitCode = code
  // nothing here keeps a process alive; should a daemon's own module do so, it ends all the same
  setTimeout(() => process.exit(code), 500).unref()
  return code
}

/** In a log every line has its time; on a terminal the sentence alone is enough. */
const stamp = (): string => (process.getBuiltinModule("node:tty").isatty(2) ? "" : `${new Date().toISOString()} `)

/** Not `process.stderr`, whose first use costs a contender that loses 4 ms; a reader that has gone is no failure. */
const say = (line: string): void => {
  try {
    process.getBuiltinModule("node:fs").writeSync(2, `${stamp()}${line}\n`)
  } catch {
    return
  }
}

type Unusable = Extract<StartupOutcome, { readonly type: "unusable" }>

interface Resolved {
  readonly handOver: HandOver | undefined
  readonly resolved: ServiceSpec
  readonly paths: ServicePaths
}

const resolve = (spec: ServiceSpec): Resolved | Unusable => {
  try {
    const handOver: HandOver | undefined = parseHandOver(process.env[variable])
    delete process.env[variable] // what the service starts is not this service
    const resolved: ServiceSpec = handOver === undefined ? spec : { ...spec, ...pickKey(handOver) }
    return { handOver, resolved, paths: pathsOf(resolved) }
  } catch (error) {
    const { message } = error as Error
    const action = error instanceof InvalidKey ? error.action : ""
    return { type: "unusable", kind: "directory", path: "", message, action }
  }
}

const pickKey = ({ app, channel, directory, profile }: HandOver) => ({ app, channel, directory, profile })
