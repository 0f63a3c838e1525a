import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { millisOf, type PlainDuration } from "../src/internal/duration.ts"
import { decide, type Idle, type IdleEvent, initial } from "../src/internal/idle.ts"
import * as uses from "../src/internal/uses.ts"
import * as fs from "node:fs"
import { attach, hello, is, moduleOf, own } from "./owner.ts"
import { until } from "./support.ts"

/** The step after each event, at the given times, with a limit of 10 s. */
const steps = (...events: ReadonlyArray<readonly [at: number, event: IdleEvent]>) => {
  let idle: Idle = initial
  return events.map(([at, event]) => {
    const [next, step] = decide(10_000, idle, event, at)
    idle = next
    return step._tag === "Wait" ? step.ms : step._tag
  })
}
const ready: IdleEvent = { type: "Ready" }
const passed: IdleEvent = { type: "Passed" }
const used: IdleEvent = { type: "Used", used: true }
const unused: IdleEvent = { type: "Used", used: false }

describe("when an idle service ends", () => {
  it("the time counts from ready", () => {
    assert.deepStrictEqual(steps([0, unused], [5000, ready], [15_000, passed]), ["Rest", 10_000, "Stop"])
  })
  it("while it is used it rests, and the whole time counts from the end of the last use", () => {
    assert.deepStrictEqual(steps([0, ready], [9000, used], [60_000, unused], [69_999, passed], [70_000, passed]), [
      10_000,
      "Rest",
      10_000,
      1,
      "Stop"
    ])
  })
  it("a use that was there before ready, and one that comes as the time is over, keep it", () => {
    assert.deepStrictEqual(steps([0, used], [1000, ready], [90_000, passed]), ["Rest", "Rest", "Rest"])
    assert.deepStrictEqual(steps([0, ready], [10_000, passed], [10_000, used]), [10_000, "Stop", "Rest"])
  })
  it("who looks late was frozen: whoever waited meanwhile gets a second to be heard", () => {
    assert.deepStrictEqual(steps([0, ready], [50_000, passed], [51_000, passed]), [10_000, 1000, "Stop"])
    assert.deepStrictEqual(steps([0, ready], [50_000, passed], [50_100, used]), [10_000, 1000, "Rest"])
  })
  it("a month is waited for in parts, since no timer is that long", () => {
    const month = 30 * 86_400_000
    const [idle, first] = decide(month, initial, ready, 0)
    assert.deepStrictEqual(first, { _tag: "Wait", ms: 86_400_000 })
    assert.deepStrictEqual(decide(month, idle, passed, month)[1], { _tag: "Stop" })
  })
})

it("a service is in use until the last of its uses has ended, however often each is ended", () => {
  const one = uses.make()
  const told: Array<boolean> = []
  const stop = one.subscribe((used) => told.push(used))
  const [first, second] = [one.begin(), one.begin()]
  first()
  first()
  assert.deepStrictEqual(told, [false, true])
  second()
  const third = one.begin()
  const late: Array<boolean> = []
  one.subscribe((used) => late.push(used))
  stop()
  third()
  assert.deepStrictEqual(
    [told, late],
    [
      [false, true, false, true],
      [true, false]
    ]
  )
})

it.each<[PlainDuration]>([
  [0],
  [1500],
  ["1 second"],
  ["5 minutes"],
  ["1.5 hours"],
  ["2 days"],
  ["1 week"],
  ["20 micros"]
])("%s is as long in a spec as it is in Effect", (duration) => {
  assert.strictEqual(millisOf(duration), Duration.toMillis(duration))
})

it.live("looks at its health do not keep a service; it stops as if it was asked", () =>
  Effect.gen(function* () {
    const owner = yield* own(moduleOf(hello), { idleExit: "1 second" })
    yield* is(owner, "ready")
    const client = yield* attach(owner)
    const looking = yield* Effect.forever(client.get("/service/health")).pipe(Effect.ignore, Effect.forkChild)
    yield* owner.service.stopped
    yield* Fiber.interrupt(looking)
    assert.deepStrictEqual(owner.status(), { type: "stopping" })
  })
)

it.live("who found the registration of an owner that leaves is refused in words, not cut off", () =>
  Effect.gen(function* () {
    const owner = yield* own(moduleOf(hello))
    yield* is(owner, "ready")
    const client = yield* attach(owner)
    const stopping = yield* Effect.forkChild(owner.service.stop())
    yield* until("the registration is gone", () => !fs.existsSync(owner.paths.registration))
    const { body, status } = yield* client.get("/hello")
    assert.deepStrictEqual([status, JSON.parse(body).code], [503, "service_stopping"])
    yield* Fiber.join(stopping)
  })
)
