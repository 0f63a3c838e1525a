/** A process of a test: a contender the testkit started, or the owner that a client started. */
import { launchOf } from "@holdfast/client/Spawner"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as identity from "@holdfast/lock/identity"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { WaitedTooLong } from "../WaitedTooLong.ts"
import type { ChildProcess } from "node:child_process"
import type { Orders } from "./preload.ts"

const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")
const url = process.getBuiltinModule("node:url")
const { spawn } = process.getBuiltinModule("node:child_process")

/**
 * A process under test. `kill` is SIGKILL; `freeze` and `thaw` are SIGSTOP and SIGCONT; `exited` waits (10 s) for its
 * end; its code is `null` after a signal, and when it is not this process's child.
 */
export interface Member {
  readonly pid: number
  readonly kill: Effect.Effect<void>
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
  readonly exited: Effect.Effect<{ readonly code: number | null }, WaitedTooLong>
}

type Tell = (text: string) => Effect.Effect<unknown>

/** Signals exactly that process; one that is gone by now is left alone. */
const send = (who: identity.ProcessIdentity, signal: NodeJS.Signals, tell: Tell): Effect.Effect<void> =>
  Effect.andThen(
    tell(`${signal} to ${who.pid}`),
    Effect.sync(() => void (identity.state(who) === "alive" && process.kill(who.pid, signal)))
  )

export const memberOf = (
  who: identity.ProcessIdentity,
  tell: Tell,
  code: () => number | null | undefined = () => (identity.state(who) === "alive" ? undefined : null)
): Member => ({
  pid: who.pid,
  kill: send(who, "SIGKILL", tell),
  freeze: send(who, "SIGSTOP", tell),
  thaw: send(who, "SIGCONT", tell),
  exited: Effect.sync(code).pipe(
    Effect.repeat({ schedule: Schedule.spaced("10 millis"), until: (ended) => ended !== undefined }),
    Effect.map((ended) => ({ code: ended! })),
    Effect.tap(({ code }) => tell(`${who.pid} ended with ${code ?? "a signal"}`)),
    Effect.timeoutOrElse({
      duration: "10 seconds",
      orElse: () => new WaitedTooLong({ message: `Process ${who.pid} did not end.`, action: "" })
    })
  )
})

const preload = url.fileURLToPath(new URL(`./preload${path.extname(import.meta.url)}`, import.meta.url))

/** Starts one contender that waits at the barrier. Whoever is told of it by `started` ends it. */
export const startMember = (
  spec: ServiceSpec,
  paths: ServicePaths,
  orders: Orders,
  options: {
    readonly runtime?: string | undefined
    readonly environment?: Readonly<Record<string, string>> | undefined
    readonly tell: Tell
    readonly started: (child: ChildProcess) => void
  }
): Effect.Effect<Member> =>
  Effect.gen(function* () {
    const { args, command, env } = launchOf(spec, paths)
    const runtime = options.runtime ?? command
    const flag = path.basename(runtime).startsWith("bun") ? "--preload" : "--import"
    const child = yield* Effect.sync(() => {
      const log = fs.openSync(paths.log, "a", 0o600)
      try {
        return spawn(runtime, [flag, preload, ...args], {
          detached: true,
          cwd: paths.directory,
          env: { ...env, ...options.environment, HOLDFAST_TESTKIT: JSON.stringify(orders) },
          stdio: ["ignore", log, log]
        })
      } finally {
        fs.closeSync(log)
      }
    })
    options.started(child)
    return memberOf(identity.ofPid(child.pid!)!, options.tell, () =>
      child.exitCode !== null ? child.exitCode : child.signalCode !== null ? null : undefined
    )
  })
