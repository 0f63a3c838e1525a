import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { type Found, stateOf } from "../src/internal/decide.ts"
import { follow, hush, shown, type Silence } from "../src/internal/follow.ts"
import { isStale } from "../src/internal/shownState.ts"
import { ServiceFailed } from "../src/ClientError.ts"
import { TransportLost } from "../src/Transport.ts"
import { missing as nothing, type ServiceState } from "../src/ServiceState.ts"
import { held, missing, reachable, registration, unreachable } from "./support.ts"

/** What a following client shows after each look, `seconds` apart. */
const watched = (looks: ReadonlyArray<readonly [seconds: number, found: Found]>): ReadonlyArray<string> => {
  let silence: Silence | undefined
  let now = 1_000_000
  let state = nothing
  return looks.map(([seconds, found]) => {
    now += seconds * 1000
    silence = hush(silence, found, now)
    state = shown(found, silence, now, state)
    return state.status.type
  })
}

const times = <A>(count: number, value: A): ReadonlyArray<A> => Array.from({ length: count }, () => value)
const ready = reachable({ type: "ready" })
const silent = unreachable("alive", true)

describe("busy is not dead", () => {
  type Row = [string, ReadonlyArray<readonly [number, Found]>, ReadonlyArray<string>]
  it.each<Row>([
    [
      "one slow probe changes nothing",
      [
        [0, ready],
        [2, silent],
        [1, ready]
      ],
      ["ready", "ready", "ready"]
    ],
    ["four misses, however long, change nothing", [[0, ready], ...times(4, [10, silent] as const)], times(5, "ready")],
    [
      "ten seconds, however many misses, must pass",
      [[0, ready], ...times(20, [0.5, silent] as const)],
      times(21, "ready")
    ],
    [
      "five misses over ten seconds are unresponsive",
      [[0, ready], ...times(5, [2.5, silent] as const)],
      [...times(5, "ready"), "unresponsive"]
    ],
    [
      "and it stays so until it answers",
      [[0, ready], ...times(7, [2.5, silent] as const), [60, silent], [1, ready], [1, silent]],
      [...times(5, "ready"), ...times(4, "unresponsive"), "ready", "ready"]
    ],
    [
      "an answer in between starts the count anew",
      [[0, ready], ...times(4, [5, silent] as const), [1, ready], ...times(4, [5, silent] as const)],
      times(10, "ready")
    ],
    [
      "one that boots stays starting while it is busy",
      [
        [0, reachable({ type: "starting" })],
        [2, silent],
        [2, silent]
      ],
      times(3, "starting")
    ],
    [
      "one that was never reached is unreachable, then unresponsive",
      [[0, silent], ...times(4, [2.5, silent] as const)],
      [...times(4, "unreachable"), "unresponsive"]
    ],
    [
      "a refused connection is no slow probe",
      [
        [0, ready],
        [1, unreachable("alive")],
        [1, ready]
      ],
      ["ready", "unreachable", "ready"]
    ],
    [
      "refused connections count, too",
      [[0, ready], ...times(5, [2.5, unreachable("alive")] as const)],
      ["ready", ...times(4, "unreachable"), "unresponsive"]
    ],
    [
      "another instance that does not answer is not the one that did",
      [
        [0, ready],
        [1, unreachable("alive", true, "two")]
      ],
      ["ready", "unreachable"]
    ],
    [
      "an owner that cannot be identified may be busy, too",
      [[0, ready], ...times(5, [2.5, unreachable("unknown", true)] as const)],
      [...times(5, "ready"), "unresponsive"]
    ],
    [
      "a dead owner is never unresponsive",
      [[0, ready], ...times(8, [5, unreachable("dead")] as const)],
      ["ready", ...times(8, "unreachable")]
    ],
    ["nobody is never unresponsive", times(8, [5, missing] as const), times(8, "missing")],
    [
      "its death ends the silence",
      [[0, ready], ...times(5, [2.5, silent] as const), [1, unreachable("dead")], [1, silent]],
      [...times(5, "ready"), "unresponsive", "unreachable", "unreachable"]
    ],
    [
      "an owner that is not registered yet is missing",
      [
        [0, held],
        [20, held]
      ],
      ["missing", "missing"]
    ]
  ])("%s", (_, looks, expected) => {
    assert.deepStrictEqual(watched(looks), expected)
  })

  it("what is shown of a busy owner is the very same state, and of an unresponsive one who it is", () => {
    const before = shown(ready, undefined, 0, nothing)
    assert.strictEqual(shown(silent, { misses: 1, since: 0 }, 0, before), before)
    const state = shown(silent, { misses: 5, since: 0 }, 10_000, before)
    assert.strictEqual(state.registration?.instanceID, "one")
    assert.isNull(state.health)
  })
})

describe("news that is heard late", () => {
  const state = (type: "starting" | "ready" | "stopping" | "unresponsive", instanceID = "one"): ServiceState => ({
    ...stateOf(reachable({ type: type === "unresponsive" ? "ready" : type })),
    registration: { ...registration, instanceID },
    ...(type === "unresponsive" ? { status: { type } } : {})
  })
  it.each([
    ["stopping", "ready", true],
    ["stopping", "starting", true],
    ["ready", "starting", true],
    ["starting", "ready", false],
    ["ready", "ready", false],
    ["ready", "stopping", false],
    ["unresponsive", "ready", false],
    ["stopping", "unresponsive", false]
  ] as const)("after %s, %s of the same instance is stale: %s", (before, next, stale) => {
    assert.strictEqual(isStale(state(before), state(next)), stale)
    assert.isFalse(isStale(state(before), state(next, "two")), "of another instance it never is")
  })
  it("that nobody is there is never stale", () => {
    assert.isFalse(isStale(state("stopping"), nothing))
    assert.isFalse(isStale(nothing, state("starting")))
    assert.isFalse(isStale(state("stopping"), stateOf(unreachable("dead"))))
  })
})

describe("following an application's events", () => {
  const lost = new TransportLost({ url: "", landed: "no", message: "lost", action: "" })

  it.live("subscribes first, then takes the snapshot: what happens in between is not missed", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const queue = yield* Queue.unbounded<string>()
      const stream = follow(
        {
          events: Effect.sync(() => (log.push("subscribed"), Stream.fromQueue(queue))),
          snapshot: Effect.suspend(() => {
            log.push("snapshot")
            return Effect.as(Queue.offer(queue, "in between"), ["all"])
          })
        },
        Effect.succeed("one")
      )
      const seen = yield* Stream.runCollect(Stream.take(stream, 2))
      assert.deepStrictEqual(log, ["subscribed", "snapshot"])
      assert.deepStrictEqual(seen, [
        { _tag: "Snapshot", value: ["all"], instanceID: "one" },
        { _tag: "Event", value: "in between" }
      ])
    })
  )

  it.live("on each instance anew, when the stream ends, breaks, or cannot be opened", () =>
    Effect.gen(function* () {
      let instance = 0
      const streams: ReadonlyArray<Effect.Effect<Stream.Stream<string, TransportLost>, TransportLost>> = [
        Effect.succeed(Stream.make("a")),
        Effect.succeed(Stream.concat(Stream.make("b"), Stream.fail(lost))),
        Effect.fail(lost),
        Effect.succeed(Stream.make("c"))
      ]
      const stream = follow(
        { events: Effect.suspend(() => streams[instance++]!), snapshot: Effect.sync(() => instance) },
        Effect.sync(() => `i${instance}`)
      )
      const seen = yield* Stream.runCollect(Stream.take(stream, 6)).pipe(Effect.timeout("5 seconds"))
      assert.deepStrictEqual(
        seen.map((one) => (one._tag === "Snapshot" ? one.instanceID : one.value)),
        ["i1", "a", "i2", "b", "i4", "c"]
      )
    })
  )

  it.live("a boot that failed does not end it: it is there when somebody has repaired the service", () =>
    Effect.gen(function* () {
      let asked = 0
      const failed = new ServiceFailed({ message: "There is no index.", action: "Run: index" })
      const stream = follow(
        {
          events: Effect.suspend(() => (++asked < 3 ? Effect.fail(failed) : Effect.succeed(Stream.make("a")))),
          snapshot: Effect.succeed("all")
        },
        Effect.succeed("one")
      )
      const seen = yield* Stream.runCollect(Stream.take(stream, 2)).pipe(Effect.timeout("5 seconds"))
      assert.deepStrictEqual(
        seen.map(({ value }) => value),
        ["all", "a"]
      )
      assert.strictEqual(asked, 3)
    })
  )

  it.live("an error of the application's own ends it", () =>
    Effect.gen(function* () {
      for (const source of [
        { events: Effect.fail("mine"), snapshot: Effect.succeed(1) },
        { events: Effect.succeed(Stream.never), snapshot: Effect.fail("mine") },
        { events: Effect.succeed(Stream.fail("mine")), snapshot: Effect.succeed(1) }
      ]) {
        const exit = yield* Effect.exit(
          Stream.runDrain(follow(source as never, Effect.succeed("one")) as Stream.Stream<unknown, string>)
        ).pipe(Effect.timeout("5 seconds"))
        assert.deepStrictEqual(exit, Exit.fail("mine"))
      }
    })
  )
})
