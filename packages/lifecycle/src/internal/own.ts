/** The winner of the gate: everything up to `starting` without Effect, then Effect and the application. */
import * as ExitCode from "@holdfast/lock/ExitCode"
import type { HeldLock } from "@holdfast/lock/gate"
import { claim } from "@holdfast/lock/lease"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import { step } from "@holdfast/lock/step"
import type { ApplicationModule } from "../ManagedService.ts"
import type { ServiceSpec } from "../ServiceSpec.ts"
import { servingProbe } from "../ServingProbe.ts"
import type { StartupOutcome } from "../StartupOutcome.ts"
import { flush as flushCompiled } from "./compileCache.ts"
import { type LogFile, open as openLog } from "./logFile.ts"
import { couldNotStart, drainMs, open, type Owner } from "./owner.ts"
import type { StartupPipe } from "./startupPipe.ts"
import { armWatchdog } from "./stopWatchdog.ts"

/**
 * An import blocks the event loop for 70 ms and more: a client that was told where we are, or finds us now, is answered
 * before it.
 * Turns of the loop alone do not do: without work five of them pass before its request has crossed the machine.
 */
const heard = (owner: Owner): Promise<void> =>
  Promise.race([owner.shell.answered, new Promise<void>((resolve) => setTimeout(resolve, patienceForFirstMs))])
const patienceForFirstMs = 25

const exitCodes = {
  directory: ExitCode.cannotCreate,
  lock: ExitCode.cannotCreate,
  lease: ExitCode.cannotCreate,
  credential: ExitCode.notAllowed,
  port: ExitCode.unavailable
}

export const own = async (
  lock: HeldLock | undefined,
  options: {
    readonly spec: ServiceSpec
    readonly paths: ServicePaths
    readonly pipe: StartupPipe
    readonly foreground: boolean
    readonly unasked: boolean
    readonly application: ApplicationModule
    readonly leave: (code: number, outcome: StartupOutcome, pipe: StartupPipe) => number
  }
): Promise<number> => {
  const { application, paths, pipe, spec } = options
  const instanceID = process.getBuiltinModule("node:crypto").randomUUID()
  const policy = spec.policy ?? "strict"
  const probe = policy === "fenced" ? servingProbe(paths) : undefined
  const claimed = await claim(paths.lease, { instanceID, lock, probe })
  if (claimed._tag === "Held") return options.leave(ExitCode.ok, { type: "held", pid: claimed.pid }, pipe)
  if (claimed._tag === "Unavailable") {
    const { action, message, path } = claimed
    return options.leave(exitCodes.lease, { type: "unusable", kind: "lease", path, message, action }, pipe)
  }
  const owner = await open(claimed.claim, { spec, paths })
  if ("type" in owner) return options.leave(exitCodes[owner.kind], owner, pipe)
  const log = openLog(options.foreground ? undefined : paths.log, instanceID)
  setInterval(log.check, logCheckMs).unref()
  const ended = followProcess(owner, options.foreground, log)
  followStatus(owner, pipe, log)
  if (!options.unasked) await heard(owner)
  try {
    const { run } = await import("./run.ts")
    await Promise.race([run(lock, claimed.claim, owner, log, application), ended])
  } catch (error) {
    // Effect itself did not load, or the owner's own code failed: before `ready` that is a failed boot, and is shown
    if (!latch(owner, error, log)) throw error
    await ended
  }
  process.exit(ExitCode.ok)
}

/** How often the log's size is looked at. */
const logCheckMs = 1000

const followStatus = (owner: Owner, pipe: StartupPipe, log: LogFile): void => {
  pipe.announce({ type: "starting", registration: owner.registration, token: owner.token })
  owner.shell.subscribe((status) => {
    if (status.type === "starting") return
    step(status.type)
    if (status.type === "failed") noteFailure(owner, log)
    if (status.type === "ready" || status.type === "failed") pipe.announce(status)
    if (status.type === "ready") setTimeout(flushCompiled, flushAfterMs).unref()
    pipe.close() // nobody waits for more, and a client must not be kept by it
  })
}

/** The first requests come before it, since it holds up the loop. */
const flushAfterMs = 1000

/** What must not keep the rest from happening: the disk may be full. */
const noteFailure = (owner: Owner, log: LogFile): void => {
  try {
    owner.noteFailure()
  } catch (error) {
    log.write("warn", `cannot write the owner's note: ${wordsOf(error)}`)
  }
}

const wordsOf = (error: unknown): string =>
  (error instanceof Error ? (error.stack ?? error.message) : String(error)).replaceAll("\n", "\n  ")

/** Signals and what nobody caught. The promise resolves when a stop was asked for and nobody is left to perform it. */
const followProcess = (owner: Owner, foreground: boolean, log: LogFile): Promise<void> => {
  // in the foreground the service ends with its terminal
  for (const signal of ["SIGTERM", "SIGINT", ...(foreground ? (["SIGHUP"] as const) : [])] as const) {
    process.on(signal, () => owner.shell.dispatch({ type: "StopAsked" }))
  }
  for (const kind of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(kind, (error: unknown) => {
      log.write("error", `${kind}: ${wordsOf(error)}`)
      const status = owner.shell.status().type
      if (status === "ready") process.exit(ExitCode.software) // only a boot latches: the next client gets a fresh one
      latch(owner, undefined, log)
    })
  }
  return new Promise((resolve) => {
    owner.shell.onStop(() => {
      armWatchdog(stopBoundMs, `${new Date().toISOString()} the stop took too long: the process is ended`)
      setTimeout(() => void owner.leave({ remove: true }).finally(resolve), drainMs + patienceMs).unref()
    })
  })
}

/** Effect may not have loaded, or hang: past the drain deadline the plain half leaves by itself. */
const patienceMs = 500
/** Drain deadline and one second: what is still there then is cut off. */
const stopBoundMs = drainMs + 1000

/** `true` while booting: the failure is kept and shown, and not repeated by the next client. */
const latch = (owner: Owner, error: unknown, log: LogFile): boolean => {
  if (error !== undefined) log.write("error", `the application could not start: ${wordsOf(error)}`)
  if (owner.shell.status().type !== "starting") return false
  owner.shell.dispatch({ type: "BootFailed", ...couldNotStart(owner.spec) })
  return true
}
