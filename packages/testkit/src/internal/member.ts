/** A process of a test: a contender the testkit started, or the owner that a client started. */
import { launchOf } from "@holdfast/client/Spawner"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as identity from "@holdfast/lock/identity"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import type { Step } from "@holdfast/lock/step"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { WaitedTooLong } from "../WaitedTooLong.ts"
import type { ChildProcess } from "node:child_process"
import type { Orders } from "./preload.ts"
import type { Recorder } from "./recorder.ts"
import { isWatchable, preloading } from "./watched.ts"

const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")
const { spawn } = process.getBuiltinModule("node:child_process")

/**
 * What is done to one process, or to all of a process group.
 *
 * @category models
 * @since 0.1.0
 */
export interface Signalled {
  /** SIGKILL. */
  readonly kill: Effect.Effect<void>
  /** SIGSTOP. */
  readonly freeze: Effect.Effect<void>
  /** SIGCONT. */
  readonly thaw: Effect.Effect<void>
  readonly signal: (name: "SIGTERM" | "SIGINT" | "SIGHUP") => Effect.Effect<void>
}

/**
 * A process under test. It is signalled only while its identity is what it was.
 *
 * **Details** `group`: the same for the whole process group that it leads, its own children included. `crashAt`, `freezeAt`:
 * it is killed, or frozen, exactly when it comes to that moment. `exited` waits (10 s) for its end; its code is `null` after a signal, and when
 * it is not this process's child.
 *
 * @category models
 * @since 0.1.0
 */
export interface Member extends Signalled {
  readonly pid: number
  readonly group: Signalled
  readonly crashAt: (step: Step) => Effect.Effect<void>
  readonly freezeAt: (step: Step) => Effect.Effect<void>
  readonly exited: Effect.Effect<{ readonly code: number | null }, WaitedTooLong>
}

/** Signals exactly that process, or the group it leads; one that is gone by now is left alone. */
const signalled = (who: identity.ProcessIdentity, recorder: Recorder, group: boolean): Signalled => {
  const send = (signal: NodeJS.Signals) =>
    Effect.sync(() => {
      recorder.add({ _tag: "Signal", pid: who.pid, signal: group ? `${signal} to the group` : signal })
      if (identity.state(who) === "alive") process.kill(group ? -who.pid : who.pid, signal)
    })
  return { kill: send("SIGKILL"), freeze: send("SIGSTOP"), thaw: send("SIGCONT"), signal: send }
}

/** The order for one process, or in the file `at` for all. */
export const orderAt = (scratch: string, file: string, signal: "SIGKILL" | "SIGSTOP", step: Step) =>
  Effect.sync(() => fs.writeFileSync(path.join(scratch, file), `${signal} ${step}`))

export const memberOf = (
  who: identity.ProcessIdentity,
  scratch: string,
  recorder: Recorder,
  code: () => number | null | undefined = () => (identity.state(who) === "alive" ? undefined : null)
): Member => ({
  pid: who.pid,
  ...signalled(who, recorder, false),
  group: signalled(who, recorder, true),
  crashAt: (step) => orderAt(scratch, `at-${who.pid}`, "SIGKILL", step),
  freezeAt: (step) => orderAt(scratch, `at-${who.pid}`, "SIGSTOP", step),
  exited: Effect.sync(code).pipe(
    Effect.repeat({ schedule: Schedule.spaced("10 millis"), until: (ended) => ended !== undefined }),
    Effect.map((ended) => ({ code: ended! })),
    Effect.tap(({ code }) => Effect.sync(() => recorder.add({ _tag: "Ended", pid: who.pid, code }))),
    Effect.timeoutOrElse({
      duration: "10 seconds",
      orElse: () => new WaitedTooLong({ message: `Process ${who.pid} did not end.`, action: "" })
    })
  )
})

/** Starts one contender that waits at the barrier. Whoever is told of it by `started` ends it. */
export const startMember = (
  spec: ServiceSpec,
  paths: ServicePaths,
  orders: Orders,
  options: {
    readonly runtime?: string | undefined
    readonly environment?: Readonly<Record<string, string>> | undefined
    readonly recorder: Recorder
    readonly started: (child: ChildProcess) => void
  }
): Effect.Effect<Member> =>
  Effect.sync(() => {
    const launch = launchOf(spec, paths)
    const runtime = options.runtime ?? launch.command
    const args = [...(isWatchable(runtime) ? preloading(runtime) : []), ...launch.args]
    const log = fs.openSync(paths.log, "a", 0o600)
    try {
      const child = spawn(runtime, args, {
        detached: true,
        cwd: paths.directory,
        env: { ...launch.env, ...options.environment, HOLDFAST_TESTKIT: JSON.stringify(orders) },
        stdio: ["ignore", log, log]
      })
      options.started(child)
      return memberOf(identity.ofPid(child.pid!)!, orders.scratch, options.recorder, () =>
        child.exitCode !== null ? child.exitCode : child.signalCode !== null ? null : undefined
      )
    } finally {
      fs.closeSync(log)
    }
  })
