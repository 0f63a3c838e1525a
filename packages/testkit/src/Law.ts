/**
 * The laws of DESIGN §10 as checks that hold for any service, under any test runner.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Member, Testkit } from "./Testkit.ts"
import { LawBroken, type WaitedTooLong } from "./WaitedTooLong.ts"

const fs = process.getBuiltinModule("node:fs")

/**
 * A law: `check` runs it against real processes and fails with what happened.
 *
 * @category models
 * @since 0.1.0
 */
export interface Law {
  readonly number: number
  readonly sentence: string
  readonly check: Effect.Effect<void, LawBroken, Testkit>
  readonly timeoutMs: number
}

const law = (
  number: number,
  sentence: string,
  body: (kit: Testkit["Service"]) => Effect.Effect<void, LawBroken | WaitedTooLong, Scope.Scope>
): Law => ({
  number,
  sentence,
  timeoutMs: 60_000,
  check: Effect.flatMap(Testkit, body).pipe(
    Effect.catchTag("WaitedTooLong", ({ message }) => broken(number, message)),
    Effect.scoped
  )
})

const broken = (number: number, message: string) =>
  new LawBroken({ message: `Law ${number} is broken: ${message}`, action: "" })

const expect = (number: number, holds: boolean, message: string): Effect.Effect<void, LawBroken> =>
  holds ? Effect.void : Effect.fail(broken(number, message))

const isReady = (kit: Testkit["Service"]) =>
  kit.waitFor("the service is ready", (state) => state.status.type === "ready", { within: "45 seconds" })

const booted = (kit: Testkit["Service"], members: ReadonlyArray<Member>) =>
  members.filter((member) => kit.steps(member).includes("during-boot")).map(({ pid }) => pid)

const contenders = 10

/**
 * The laws that are checked so far.
 *
 * **Details** Each takes a fresh `Testkit.layer`.
 *
 * @category models
 * @since 0.1.0
 */
export const all: ReadonlyArray<Law> = [
  law(1, "ten contenders: one process runs the application", (kit) =>
    Effect.gen(function* () {
      const members = yield* kit.swarm(contenders)
      yield* isReady(kit)
      const ran = booted(kit, members)
      yield* expect(1, ran.length === 1, `${ran.length} processes booted the application: ${ran.join(" ")}`)
    })
  ),
  law(3, "a loser never imports the application and is gone within 2 s", (kit) =>
    Effect.gen(function* () {
      yield* kit.swarm(1)
      const owner = yield* kit.owner
      const losers = yield* kit.swarm(contenders - 1)
      const ended = yield* Effect.forEach(losers, (loser) => loser.exited, { concurrency: "unbounded" }).pipe(
        Effect.timeoutOrElse({
          duration: "2 seconds",
          orElse: () => Effect.fail(broken(3, "losers were still there after 2 s"))
        })
      )
      yield* expect(
        3,
        ended.every(({ code }) => code === 0),
        `losers ended with ${ended.map(({ code }) => code).join(" ")}`
      )
      yield* expect(3, booted(kit, losers).length === 0, "a loser booted the application")
      yield* expect(3, (yield* kit.owner).pid === owner.pid, "the owner changed")
    })
  ),
  law(4, "a healthy owner is not displaced by contenders", (kit) =>
    Effect.gen(function* () {
      yield* kit.swarm(1)
      const { registration } = yield* isReady(kit)
      const losers = yield* kit.swarm(3)
      yield* Effect.forEach(losers, (loser) => loser.exited, { concurrency: "unbounded" })
      const after = yield* kit.client.state
      yield* expect(4, after.registration?.instanceID === registration?.instanceID, "another instance owns the service")
    })
  ),
  law(5, "a dead owner has a successor within a second of its lock being free", (kit) =>
    Effect.gen(function* () {
      yield* kit.swarm(1)
      const owner = yield* kit.owner
      yield* isReady(kit)
      yield* owner.kill
      yield* owner.exited
      const [successor] = yield* kit.swarm(1)
      yield* kit.eventually(
        "the successor has the lock",
        () => kit.steps(successor!),
        (steps) => steps.includes("after-lock"),
        {
          within: "1 second"
        }
      )
      yield* isReady(kit)
      yield* expect(5, (yield* kit.owner).pid === successor!.pid, "somebody else owns the service")
    })
  ),
  law(10, "the secret is in no log and no process list", (kit) =>
    Effect.gen(function* () {
      yield* kit.swarm(1)
      yield* isReady(kit)
      const secret = fs.readFileSync(kit.paths.secret, "utf8").trim()
      const log = fs.readFileSync(kit.paths.log, "utf8")
      yield* expect(10, secret.length === 43 && !log.includes(secret), "the log has it")
      yield* expect(10, !kit.processes().some(({ command }) => command.includes(secret)), "the process list has it")
    })
  )
]
