import { assert, describe, it } from "@effect/vitest"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Fiber, Layer, Schedule, Stream } from "effect"
import * as fs from "node:fs"
import { setKnobs } from "./fixture/service.ts"
import { boots, isReady, withKit } from "./withKit.ts"

type Kit = Testkit["Service"]

/** A client of its own, as another process would have. */
const as = <A, E, R>(kit: Kit, use: (client: ServiceClient["Service"]) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(ServiceClient, use).pipe(Effect.provide(Layer.fresh(ServiceClient.layer(kit.spec))))

const moment = (at: number) =>
  Effect.sync(() => performance.now()).pipe(
    Effect.repeat({ schedule: Schedule.spaced("1 millis"), until: (now) => now >= at })
  )

describe.concurrent("idle exit", () => {
  it.live("a service that nobody uses ends by itself with code 0, and takes its registration away", () =>
    withKit({ idleExit: "1 second" }, (kit) =>
      Effect.gen(function* () {
        const [owner] = yield* kit.swarm(1)
        assert.deepStrictEqual(yield* owner!.exited, { code: 0 })
        assert.isFalse(fs.existsSync(kit.paths.registration))
        assert.include(fs.readFileSync(kit.paths.log, "utf8"), "nobody has used the service for 1000 ms")
        assert.include(fs.readFileSync(kit.paths.log, "utf8"), "stopped")
        assert.notStrictEqual((yield* kit.client.ensure()).pid, owner!.pid)
      })
    )
  )

  it.live("it stops as if it was asked: what it hands over goes to the next one", () =>
    withKit({ idleExit: "1 second", handOver: { sessions: ["a"] } }, (kit) =>
      Effect.gen(function* () {
        const [owner] = yield* kit.swarm(1)
        yield* owner!.exited
        assert.isTrue(fs.existsSync(kit.paths.continuity))
        const { pid } = yield* kit.client.ensure()
        assert.deepStrictEqual(JSON.parse(fs.readFileSync(`${kit.paths.directory}/resumed`, "utf8")), {
          pid,
          epoch: 2,
          sessions: ["a"]
        })
      })
    )
  )

  it.live("a boot that takes longer is no idle time", () =>
    withKit({ idleExit: "1 second", bootMs: 3000 }, (kit) =>
      Effect.gen(function* () {
        const [owner] = yield* kit.swarm(1)
        assert.strictEqual((yield* isReady(kit)).health?.pid, owner!.pid)
        assert.deepStrictEqual(yield* owner!.exited, { code: 0 })
      })
    )
  )

  it.live("a failed boot does not end by itself", () =>
    withKit({ idleExit: "1 second", bootFail: { message: "It is broken.", action: "Repair it." } }, (kit) =>
      Effect.gen(function* () {
        const [owner] = yield* kit.swarm(1)
        yield* kit.waitFor("it is failed", ({ status }) => status.type === "failed")
        yield* moment(performance.now() + 2000)
        const { health, status } = yield* kit.client.state
        assert.deepStrictEqual([health?.pid, status.type], [owner!.pid, "failed"])
      })
    )
  )

  it.live("a request that takes longer is answered, and only its end begins the idle time", () =>
    withKit({ idleExit: "2 seconds" }, (kit) =>
      Effect.gen(function* () {
        yield* kit.client.launch()
        const asking = yield* Effect.forkChild(kit.client.http.get("/three-seconds"))
        const owner = yield* kit.owner
        const response = yield* Fiber.join(asking)
        assert.strictEqual(yield* response.text, "three seconds")
        const before = performance.now()
        yield* owner.exited
        assert.isAbove(performance.now() - before, 1900)
        assert.deepStrictEqual(boots(kit), [owner.pid])
      })
    )
  )

  for (const [what, follow] of [
    [
      "an event stream of the application",
      (kit: Kit) => Stream.unwrap(Effect.map(kit.client.http.get("/ticks"), (response) => response.stream))
    ],
    ["a client that follows the status", (kit: Kit) => kit.client.changes]
  ] as const) {
    it.live(`${what} keeps it, however long; when it has gone, the idle time begins`, () =>
      withKit({ idleExit: "2 seconds" }, (kit) =>
        Effect.gen(function* () {
          yield* kit.client.launch()
          const from = performance.now()
          const following = yield* Effect.forkChild(Stream.runDrain(follow(kit) as Stream.Stream<unknown, unknown>))
          const owner = yield* kit.owner
          yield* moment(from + 4000)
          assert.strictEqual((yield* kit.client.state).health?.pid, owner.pid)
          yield* Fiber.interrupt(following)
          yield* owner.exited
          assert.deepStrictEqual(boots(kit), [owner.pid])
        })
      )
    )
  }
})

/** Milliseconds after the last use at which the first of twenty comes, the others 2 ms after each other. */
const arrivals = [900, 990, 1000, 1005, 1020]
/** Where a busy machine had each of them meet one side only: these come when it has surely ended, or surely not. */
const sure = { next: [1200, 1500, 2000], this: [800, 600, 300, 0] }

const moments = [
  ...arrivals.map((arrival) => [arrival, undefined] as const),
  ...(["next", "this"] as const).flatMap((wanted) => sure[wanted].map((arrival) => [arrival, wanted] as const))
]

describe("clients that arrive as an idle service ends", () => {
  for (const method of ["get", "post"] as const) {
    it.live(
      `twenty that ${method} at the very moment all get an answer, from this instance or from the next`,
      () =>
        withKit({ idleExit: "1 second" }, (kit) =>
          Effect.gen(function* () {
            const answered = new Set<"this" | "next">()
            for (const [arrival, wanted] of moments) {
              if (wanted !== undefined && answered.has(wanted)) continue
              yield* kit.client.stop()
              setKnobs(kit.paths.directory, { idleExit: "1 second" })
              yield* kit.client.launch()
              // the next one is there for all that come late, however slow the machine
              setKnobs(kit.paths.directory, {})
              const before = boots(kit).length
              const first = yield* Effect.flatMap(kit.client.http.get("/hello"), ({ text }) => text)
              const from = performance.now()
              const texts = yield* Effect.forEach(
                Array.from({ length: 20 }, (_, n) => n),
                (n) =>
                  as(kit, (client) =>
                    Effect.gen(function* () {
                      // every second one has found the service long before
                      if (n % 2 === 0) yield* client.state
                      yield* moment(from + arrival + n * 2)
                      const { text } = yield* client.http[method]("/hello")
                      return yield* text
                    })
                  ),
                { concurrency: "unbounded" }
              )
              for (const text of texts) {
                assert.match(text, /^hello from \d+$/)
                answered.add(text === first ? "this" : "next")
              }
              assert.isAtMost(boots(kit).length - before, 1, "there was one next instance at most")
            }
            assert.deepStrictEqual([...answered].toSorted(), ["next", "this"])
          })
        ),
      120_000
    )
  }
})
