import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { type Budget, crashed, empty, forgottenAfterMs, free, pauseMs, read, started } from "../src/internal/budget.ts"

const starter = { pid: 7, startIdentity: "boot/1/1/m", host: "here" }
const boot = "boot"
const now = 1_000_000
const text = (budget: Budget) => JSON.stringify(budget).padEnd(4096)

describe("the budget that all clients share", () => {
  it("three starts in a row cost nobody a pause; then it doubles from 250 ms to five seconds", () => {
    assert.deepStrictEqual(
      Array.from({ length: 10 }, (_, index) => pauseMs(index + 1)),
      [0, 0, 250, 500, 1000, 2000, 4000, 5000, 5000, 5000]
    )
  })

  it("is read as it was written, with the spaces behind it", () => {
    const written = { ...crashed(started(empty(boot), now, 1), "why", now + 5), starter }
    assert.deepStrictEqual(read(text(written), boot, now + 10), written)
  })

  it("keeps the first cause and the last one", () => {
    const { crashes, first, last } = crashed(crashed(empty(boot), "first", now), "last", now)
    assert.deepStrictEqual([crashes, first, last], [2, "first", "last"])
  })

  it("is forgotten when nobody needed a start for ten seconds after the next one was allowed, and not before", () => {
    let budget = empty(boot)
    for (let count = 0; count < free + 5; count++) budget = started(budget, now, 1)
    assert.strictEqual(read(text(budget), boot, budget.notBefore + forgottenAfterMs).spawns, free + 5)
    assert.deepStrictEqual(read(text(budget), boot, budget.notBefore + forgottenAfterMs + 1), empty(boot))
  })

  const one = { ...started(empty(boot), now, 1), starter }
  it.each<readonly [string, string]>([
    ["nothing", ""],
    ["garbage", "{"],
    ["another kind of JSON", "[1]"],
    ["null", "null"],
    ["one with a field of another type", JSON.stringify({ ...one, spawns: "9" })],
    ["one with a negative count", JSON.stringify({ ...one, spawns: -1 })],
    ["one whose starter is nobody", JSON.stringify({ ...one, starter: { pid: "x" } })],
    ["one of another boot", JSON.stringify({ ...one, boot: "another" })],
    ["one of the future", JSON.stringify({ ...one, at: now + 1 })],
    ["one that crashed in the future", JSON.stringify({ ...one, crashedAt: now + 1 })],
    ["one that allows the next start in an hour", JSON.stringify({ ...one, notBefore: now + 3_600_000 })]
  ])("%s counts as empty", (_, found) => {
    assert.deepStrictEqual(read(found, boot, now), empty(boot))
  })

  const time = Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 3 * now }))
  const records = Schema.Struct({
    boot: Schema.Literals([boot, "another"]),
    spawns: Schema.Int,
    at: time,
    notBefore: time,
    crashes: Schema.Int,
    crashedAt: Schema.optionalKey(time)
  })
  it.prop(
    "whatever stands in the file, nobody waits longer than ten seconds",
    [Arbitrary.schema(records)],
    ([record]) => assert.isAtMost(read(JSON.stringify(record), boot, now).notBefore, now + 10_000)
  )
})
