import { assert, describe, it } from "@effect/vitest"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Stream } from "effect"
import * as fs from "node:fs"
import { fileURLToPath } from "node:url"
import { type Interface, open, raw, ticks } from "./interfaces.ts"
import { boots, isReady, withKit } from "./withKit.ts"

const counting = fileURLToPath(new URL("./fixture/flaky.ts", import.meta.url))

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

  it.live(
    "only the owner, in policy fenced, and another follows it: streams and requests to the sleeping one are cut and move on",
    () =>
      withKit({ policy: "fenced" }, (kit) =>
        Effect.gen(function* () {
          const first = yield* kit.client.ensure()
          const screen = yield* open(kit, { CALLS: "1", POLICY: "fenced" })
          yield* ticks(kit, screen, first.pid)
          const followed: Array<string> = []
          yield* kit.client
            .follow({
              snapshot: Effect.succeed("all"),
              events: Effect.map(kit.client.http.get("/ticks"), ({ stream }) => stream)
            })
            .pipe(
              Stream.runForEach((item) =>
                Effect.sync(() => item._tag === "Snapshot" && followed.push(item.instanceID))
              ),
              Effect.forkScoped
            )
          yield* kit.eventually(
            "it follows, too",
            () => followed.length,
            (count) => count === 1
          )
          const owner = yield* kit.owner
          yield* owner.freeze
          const { pid } = yield* kit.client.ensure({ deadline: "60 seconds" })
          assert.notStrictEqual(pid, first.pid)
          yield* ticks(kit, screen, pid)
          yield* kit.eventually(
            "calls and events are those of the new one",
            () => [screen.lines("called").at(-1), followed.length] as const,
            ([call, count]) => call === `called: hello from ${pid}` && count === 2
          )
          assert.lengthOf(screen.lines("reopened"), 2)
          assert.isEmpty(screen.lines("error"))
          assert.notMatch(screen.output(), raw)
          yield* owner.thaw
          yield* owner.exited
        })
      ),
    120_000
  )
})
