import { assert, describe, it } from "@effect/vitest"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import { Effect } from "effect"
import * as fs from "node:fs"
import { boots, isReady, withKit } from "./withKit.ts"

describe.concurrent("policy fenced", () => {
  it.live(
    "a holder that serves keeps its place, also when its lock file is gone: the contender asks it and leaves",
    () =>
      withKit({ policy: "fenced" }, (kit) =>
        Effect.gen(function* () {
          const [owner] = yield* kit.swarm(1)
          yield* isReady(kit)
          fs.rmSync(kit.paths.lock)
          fs.rmSync(kit.paths.owner)
          const [contender] = yield* kit.swarm(1)
          assert.deepStrictEqual(yield* contender!.exited, { code: 0 })
          assert.include(fs.readFileSync(kit.paths.log, "utf8"), `Already running with PID ${owner!.pid}.`)
          assert.deepStrictEqual(boots(kit), [owner!.pid])
          yield* kit.eventually(
            "the owner's note is back",
            () => fs.existsSync(kit.paths.owner),
            (back) => back
          )
        })
      )
  )

  it.live(
    "Lock acquisition: a bound socket that accepts but stays silent yields takeover; thawed, its holder asserts, admits and removes nothing, and ends; contenders ask the successor and leave",
    () =>
      withKit({ policy: "fenced" }, (kit) =>
        Effect.gen(function* () {
          const [first] = yield* kit.swarm(1)
          const before = yield* isReady(kit)
          yield* first!.freeze
          const [second] = yield* kit.swarm(1)
          const after = yield* kit.waitFor(
            "the successor is ready",
            (state) => state.status.type === "ready" && state.registration?.pid === second!.pid,
            { within: "45 seconds" }
          )
          assert.notStrictEqual(after.registration?.instanceID, before.registration?.instanceID)
          const registered = fs.readFileSync(kit.paths.registration, "utf8")
          yield* first!.thaw
          yield* first!.exited
          assert.strictEqual(fs.readFileSync(kit.paths.registration, "utf8"), registered)
          assert.include(fs.readFileSync(kit.paths.log, "utf8"), "claim superseded")
          const [third] = yield* kit.swarm(1)
          assert.deepStrictEqual(yield* third!.exited, { code: 0 })
          assert.deepStrictEqual(yield* kit.client.state, after)
          // the successor sleeps, and a contender that finds the lock free is awake first
          yield* second!.freeze
          fs.rmSync(kit.paths.lock, { force: true })
          const [fourth] = yield* kit.swarm(1)
          yield* kit.eventually(
            "the contender comes to the lock",
            () => kit.steps(fourth!),
            (steps) => steps.includes("before-lock")
          )
          yield* second!.thaw
          assert.deepStrictEqual(yield* fourth!.exited, { code: 0 })
          assert.deepStrictEqual(yield* kit.client.state, after)
          assert.deepStrictEqual(boots(kit), [first!.pid, second!.pid])
          yield* kit.eventually(
            "the successor holds the new lock file",
            () => OwnerNote.living(kit.paths.owner, kit.paths.lock)?.pid,
            (pid) => pid === second!.pid
          )
        })
      ),
    90_000
  )
})
