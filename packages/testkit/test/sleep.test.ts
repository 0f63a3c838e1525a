import { assert, describe, it } from "@effect/vitest"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as fs from "node:fs"
import { type Interface, open, raw, ticks } from "./interfaces.ts"
import { boots, isReady, withKit } from "./withKit.ts"
import { programOf } from "./fixture/programs.ts"

const counting = programOf("flaky")

/** More than the lease of 30 s. */
const sleepMs = 40_000

/** Time in which those that are awake already meet those that are not; less than the ten seconds of patience. */
const apart = (kit: Testkit["Service"]) =>
  Effect.suspend(() => {
    const began = performance.now()
    const passed = () => performance.now() - began
    return kit.eventually("three seconds are over", passed, (ms) => ms > 3000)
  })

type Sleepers = { readonly owner: Effect.Effect<void>; readonly clients: ReadonlyArray<Interface> }
const wake = (clients: ReadonlyArray<Interface>) =>
  Effect.sync(() => clients.forEach((client) => client.signal("SIGCONT")))

const orders: ReadonlyArray<[string, (kit: Testkit["Service"], all: Sleepers) => Effect.Effect<unknown, unknown>]> = [
  ["the owner first", (kit, { clients, owner }) => Effect.all([owner, apart(kit), wake(clients)])],
  ["its clients first", (kit, { clients, owner }) => Effect.all([wake(clients), apart(kit), owner])],
  [
    "some clients, the owner, and the others",
    (kit, { clients, owner }) =>
      Effect.all([wake(clients.slice(0, 2)), apart(kit), owner, apart(kit), wake(clients.slice(2))])
  ]
]

describe.concurrent("everything sleeps for forty seconds and wakes", () => {
  for (const [name, order] of orders) {
    it.live(
      `${name}: the same owner, nobody else started, at most one reconnect for each client, and no word about it`,
      () =>
        withKit({}, (kit) =>
          Effect.gen(function* () {
            fs.writeFileSync(`${kit.paths.directory}/failures`, "0")
            const env = { ENTRY: counting }
            const awake = yield* Effect.forEach([env, env, { ...env, CALLS: "1" }], (one) => open(kit, one))
            for (const one of awake) yield* ticks(kit, one)
            const owner = yield* kit.owner
            const { registration } = yield* isReady(kit)
            const clients = [...awake, yield* open(kit, env)] // and one that is in the middle of its launch
            const began = performance.now()
            yield* owner.freeze
            for (const client of clients) client.signal("SIGSTOP")
            yield* kit.eventually(
              "the night is over",
              () => performance.now() - began,
              (ms) => ms > sleepMs,
              { within: "60 seconds" }
            )
            yield* order(kit, { owner: owner.thaw, clients })
            for (const client of clients) yield* ticks(kit, client, owner.pid)
            const called = awake[2]!.lines("called").length
            yield* kit.eventually(
              "calls are answered",
              () => awake[2]!.lines("called").length,
              (count) => count > called + 5
            )
            assert.deepStrictEqual((yield* isReady(kit)).registration, registration)
            assert.deepStrictEqual(boots(kit), [owner.pid])
            assert.strictEqual(fs.readFileSync(`${kit.paths.directory}/starts`, "utf8"), `${owner.pid}\n`)
            for (const client of clients) {
              assert.isUndefined(client.ended())
              assert.isAtMost(client.lines("reopened").length, 2)
              assert.strictEqual(client.lines("state").at(-1), "state: Fixture v1.0.0 is ready.")
              assert.isEmpty(client.lines("error"))
              assert.notMatch(client.output(), raw)
            }
            assert.notMatch(fs.readFileSync(kit.paths.log, "utf8"), /already running|superseded|ERROR/)
          })
        ),
      120_000
    )
  }
})
