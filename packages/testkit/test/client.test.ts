import { assert, describe, it } from "@effect/vitest"
import { type Access, ServiceClient } from "@holdfast/client/ServiceClient"
import { idempotent } from "@holdfast/client/Transport"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Fiber, Layer, Result, Stream } from "effect"
import * as fs from "node:fs"
import { stranger } from "./faulting.ts"
import { setKnobs } from "./fixture/service.ts"
import { boots, isReady, withKit } from "./withKit.ts"
import { programOf } from "./fixture/programs.ts"

/** A client of its own, as another process would have. */
const as = <A, E, R>(
  spec: ServiceSpec,
  use: (client: ServiceClient["Service"]) => Effect.Effect<A, E, R>,
  access: Access = "launch"
) => Effect.flatMap(ServiceClient, use).pipe(Effect.provide(Layer.fresh(ServiceClient.layer(spec, { access }))))

const hello = (client: ServiceClient["Service"]) =>
  Effect.flatMap(client.http.get("/hello"), (response) => response.text)

const flaky = (kit: Testkit["Service"], failures: number): ServiceSpec => {
  fs.writeFileSync(`${kit.paths.directory}/failures`, String(failures))
  return {
    ...kit.spec,
    entry: { command: process.execPath, args: [programOf("flaky")] }
  }
}

const starts = (kit: Testkit["Service"]): number => {
  const file = `${kit.paths.directory}/starts`
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n").length : 0
}

describe.concurrent("finding and starting", () => {
  it.live("a launch starts a service that is missing, and the next one attaches to it", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        const second = yield* as(kit.spec, (client) => client.launch())
        assert.deepStrictEqual(second, first)
        assert.deepStrictEqual(boots(kit), [first.pid])
      })
    )
  )

  it.live("an observer and its status start nothing, ever", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const files = fs.readdirSync(kit.paths.directory)
        const states = yield* as(
          kit.spec,
          (client) =>
            Effect.gen(function* () {
              const lost = yield* Effect.flip(client.http.get("/hello"))
              const late = yield* Effect.flip(client.ensure({ deadline: "1 second" }))
              return [(yield* client.state).status.type, lost._tag, late._tag]
            }),
          "observe"
        )
        assert.deepStrictEqual(states, ["missing", "TransportLost", "ServiceNotReady"])
        assert.deepStrictEqual(fs.readdirSync(kit.paths.directory), files)
        assert.isEmpty(kit.processes())
      })
    )
  )

  it.live("the owner is killed: the next ensure is answered by a new instance, and the lock needed no cleaning", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        const owner = yield* kit.owner
        yield* owner.kill
        const next = yield* kit.client.ensure()
        assert.notStrictEqual(next.instanceID, first.instanceID)
        assert.strictEqual(yield* hello(kit.client), `hello from ${next.pid}`)
      })
    )
  )

  it.live(
    "ensure: a failing first spawn followed by a healthy second spawn succeeds inside one call under the deadline",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const ready = yield* as(flaky(kit, 1), (client) => client.ensure())
          assert.deepStrictEqual(boots(kit), [ready.pid])
          assert.strictEqual(starts(kit), 2)
        })
      )
  )

  it.live("ensure: every spawn failing throws with the last diagnostic", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const error = yield* as(flaky(kit, 100), (client) => Effect.flip(client.ensure({ deadline: "3 seconds" })))
        assert.strictEqual(error._tag, "ServiceNotReady")
        assert.strictEqual(error.message, "Fixture did not become ready: Error: the disk said no (start 3)")
        assert.strictEqual(starts(kit), 3)
      })
    )
  )

  it.live("a launch whose contenders all end at once gives up with the first cause", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const error = yield* as(flaky(kit, 100), (client) => Effect.flip(client.launch()))
        assert.strictEqual(error._tag, "ContenderUnusable")
        assert.include(error.message, "the disk said no (start 1)")
      })
    )
  )

  it.live("ensure: a serving holder short-circuits without extra spawns", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* kit.client.launch()
        yield* as(flaky(kit, 0), (client) => client.ensure())
        assert.strictEqual(starts(kit), 0)
      })
    )
  )

  it.live("a command that ends at once without a word is given up after three tries", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const spec = { ...kit.spec, entry: { command: "/bin/true", args: [] } }
        const error = yield* as(spec, (client) => Effect.flip(client.launch()))
        assert.strictEqual(error._tag, "ContenderUnusable")
        assert.include(error.message, "it ended with code 0")
      })
    )
  )

  it.live("a diagnosed cause is told to a request at once, with one contender and not four", () =>
    Effect.gen(function* () {
      const { port } = yield* stranger("hangs")
      yield* withKit({ port }, (kit) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(kit.client.http.get("/hello"))
          assert.include(error.message, `Port ${port} is in use`)
          const said = yield* kit.eventually(
            "the contender has ended",
            () => fs.readFileSync(kit.paths.log, "utf8").split("is in use by another program").length - 1,
            (count) => count > 0
          )
          assert.strictEqual(said, 1)
        })
      )
    }).pipe(Effect.scoped)
  )

  it.live("the port of a dead owner is not dialled: a stranger there receives neither request nor token", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        assert.strictEqual(yield* hello(kit.client), `hello from ${first.pid}`)
        const owner = yield* kit.owner
        yield* owner.kill
        yield* owner.exited
        const there = yield* kit.occupyPort("hangs", { port: Number(new URL(first.url).port) })
        const posted = yield* kit.client.http.post("/count-and-hang-once").pipe(Effect.timeoutOption("2 seconds"))
        assert.strictEqual(posted._tag, "None") // the successor has it, and hangs by design
        assert.deepStrictEqual([there.connections(), there.received()], [0, ""])
      })
    )
  )

  it.live("a command that does not exist is said at once", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const spec = { ...kit.spec, entry: { command: "/no/such/program", args: [] } }
        const error = yield* as(spec, (client) => Effect.flip(client.reconnect()))
        assert.strictEqual(error._tag, "ContenderUnusable")
        assert.include(error.message, "there is no such program")
      })
    )
  )

  it.live(
    "a stranger that answers on the recorded port is never taken for the service, and the successor is found",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const { received, url } = yield* kit.occupyPort("answers")
          const first = yield* kit.client.launch()
          const secret = fs.readFileSync(kit.paths.secret, "utf8").trim()
          const owner = yield* kit.owner
          yield* owner.kill
          const record = { schema: 1, instanceID: first.instanceID, version: "1.0.0", url, pid: process.pid }
          fs.writeFileSync(kit.paths.registration, JSON.stringify(record))
          assert.strictEqual((yield* kit.client.state).status.type, "unreachable")
          const next = yield* kit.client.ensure()
          assert.notStrictEqual(next.instanceID, first.instanceID)
          assert.isNotEmpty(received())
          assert.notInclude(received(), secret)
          assert.notInclude(received().toLowerCase(), "x-holdfast-token")
        })
      )
  )
})

describe.concurrent("following", () => {
  it.live("a request after the owner was replaced on another port goes to the new owner", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        assert.strictEqual(yield* hello(kit.client), `hello from ${first.pid}`)
        const owner = yield* kit.owner
        yield* owner.kill
        const answer = yield* hello(kit.client)
        const next = yield* kit.client.state
        assert.strictEqual(answer, `hello from ${next.registration!.pid}`)
        assert.notStrictEqual(next.registration!.pid, first.pid)
      })
    )
  )

  for (const [marked, times] of [
    [false, 1],
    [true, 2]
  ] as const) {
    it.live(
      `a request that may have landed is ${marked ? "sent again when it is marked idempotent" : "TransportLost, and not sent again"}`,
      () =>
        withKit({}, (kit) =>
          Effect.gen(function* () {
            yield* kit.client.launch()
            const counted = () => {
              const file = `${kit.paths.directory}/counted`
              return fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n").length : 0
            }
            const post = Effect.flatMap(kit.client.http.post("/count-and-hang-once"), (response) => response.text)
            const posting = yield* (marked ? idempotent(post) : post).pipe(Effect.result, Effect.forkScoped)
            yield* kit.eventually("the request has landed", counted, (count) => count === 1)
            const owner = yield* kit.owner
            yield* owner.kill
            const result = yield* Fiber.join(posting)
            if (marked) assert.strictEqual(Result.getOrThrow(result), "counted")
            else assert.deepInclude(Result.getOrThrow(Result.flip(result)), { _tag: "TransportLost", landed: "maybe" })
            yield* kit.client.ensure()
            assert.strictEqual(counted(), times)
          })
        )
    )
  }

  it.live("changes begin with what is now, also when nobody followed for a while", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        const now = kit.client.changes.pipe(Stream.take(1), Stream.runCollect)
        assert.deepStrictEqual(
          (yield* now).map(({ status }) => status.type),
          ["ready"]
        )
        const owner = yield* kit.owner
        yield* owner.kill
        yield* owner.exited
        const [seen] = yield* now
        assert.deepInclude(seen, { status: { type: "unreachable" }, health: null })
        assert.strictEqual(seen?.registration?.instanceID, first.instanceID)
      })
    )
  )

  it.live("follow begins with a snapshot on each instance, and ends for no loss", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        const seen: Array<string> = []
        const ticks = kit.client.http.get("/ticks").pipe(Effect.map((response) => response.stream))
        yield* kit.client.follow({ snapshot: hello(kit.client), events: ticks }).pipe(
          Stream.runForEach((item) =>
            Effect.sync(() => {
              if (item._tag === "Snapshot") seen.push(`${item.value} as ${item.instanceID}`)
              else if (seen.at(-1) !== "events") seen.push("events")
            })
          ),
          Effect.forkScoped
        )
        yield* kit.eventually(
          "events arrive",
          () => seen,
          (items) => items.length === 2
        )
        const owner = yield* kit.owner
        yield* owner.kill
        yield* kit.eventually(
          "events arrive again",
          () => seen,
          (items) => items.length === 4
        )
        const next = (yield* isReady(kit)).registration!
        assert.deepStrictEqual(seen, [
          `hello from ${first.pid} as ${first.instanceID}`,
          "events",
          `hello from ${next.pid} as ${next.instanceID}`,
          "events"
        ])
      })
    )
  )

  it.live(
    "an owner that is frozen becomes unresponsive for a following client, with the words for it, and ready again",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const first = yield* kit.client.launch()
          const seen: Array<string> = []
          yield* as(
            kit.spec,
            (client) =>
              client.changes.pipe(Stream.runForEach((state) => Effect.sync(() => void seen.push(state.status.type)))),
            "observe"
          ).pipe(Effect.forkScoped)
          yield* kit.eventually(
            "it is followed",
            () => seen,
            (types) => types.includes("ready")
          )
          const owner = yield* kit.owner
          yield* owner.freeze
          yield* kit.eventually(
            "it is unresponsive",
            () => seen,
            (types) => types.at(-1) === "unresponsive",
            { within: "20 seconds" }
          )
          yield* owner.thaw
          yield* kit.eventually(
            "it is ready again",
            () => seen,
            (types) => types.at(-1) === "ready"
          )
          assert.deepStrictEqual(seen, ["ready", "unresponsive", "ready"])
          assert.strictEqual((yield* kit.client.ensure()).instanceID, first.instanceID)
        })
      )
  )
})

describe.concurrent("updates", () => {
  it.live(
    "Fresh vNext launch finds vOld: exact old instance stops; vNext eventually becomes ready; reconnecting clients never replace",
    () =>
      withKit({ version: "1.0.0" }, (kit) =>
        Effect.gen(function* () {
          const old = yield* kit.client.launch()
          const owner = yield* kit.owner
          setKnobs(kit.paths.directory, { version: "2.0.0" })
          assert.strictEqual((yield* kit.client.reconnect()).instanceID, old.instanceID)
          const next = yield* as({ ...kit.spec, version: "2.0.0" }, (client) => client.launch())
          assert.strictEqual(next.version, "2.0.0")
          assert.notStrictEqual(next.pid, old.pid)
          yield* owner.exited
          assert.deepStrictEqual(boots(kit), [old.pid, next.pid])
          // the client of v1 accepts the new owner, and leaves it alone
          assert.deepStrictEqual(yield* kit.client.reconnect(), next)
          assert.strictEqual(yield* hello(kit.client), `hello from ${next.pid}`)
        })
      )
  )

  it.live("Two fresh vNext launches race: one heavy successor; both clients attach", () =>
    withKit({ version: "1.0.0" }, (kit) =>
      Effect.gen(function* () {
        const old = yield* kit.client.launch()
        setKnobs(kit.paths.directory, { version: "2.0.0" })
        const found = yield* Effect.forEach(
          [1, 2],
          () => as({ ...kit.spec, version: "2.0.0" }, (client) => client.launch()),
          {
            concurrency: "unbounded"
          }
        )
        assert.deepStrictEqual(found[0], found[1])
        assert.deepStrictEqual(boots(kit), [old.pid, found[0]!.pid])
      })
    )
  )

  it.live("a launch that replaced once and finds yet another version says so and leaves it running", () =>
    withKit({ version: "1.0.0" }, (kit) =>
      Effect.gen(function* () {
        yield* kit.client.launch()
        setKnobs(kit.paths.directory, { version: "3.0.0" })
        const error = yield* as({ ...kit.spec, version: "2.0.0" }, (client) => Effect.flip(client.launch()))
        assert.strictEqual(error._tag, "VersionMismatch")
        assert.strictEqual((yield* isReady(kit)).registration?.version, "3.0.0")
      })
    )
  )
})

describe.concurrent("stopping", () => {
  it.live("restart ends an owner that does not respond, verified by its identity, and starts a new one", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        const owner = yield* kit.owner
        yield* owner.freeze
        const outcome = yield* kit.client.restart()
        assert.strictEqual(outcome._tag, "Restarted")
        yield* owner.exited
        assert.notStrictEqual((yield* isReady(kit)).registration?.instanceID, first.instanceID)
      })
    )
  )

  it.live("what cannot be identified is not signalled", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        const owner = yield* kit.owner
        yield* owner.freeze
        const note = fs.readFileSync(kit.paths.owner, "utf8")
        fs.rmSync(kit.paths.owner)
        const outcome = yield* kit.client.stop()
        assert.strictEqual(outcome._tag, "Unidentified")
        assert.strictEqual(outcome.pid, first.pid)
        fs.writeFileSync(kit.paths.owner, note)
        yield* owner.thaw
        assert.strictEqual((yield* isReady(kit)).registration?.instanceID, first.instanceID)
      })
    )
  )
})
