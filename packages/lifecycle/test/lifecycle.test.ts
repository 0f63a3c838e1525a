import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { initial, type LifecycleCommand, type LifecycleEvent, reduce } from "../src/internal/lifecycle.ts"
import { ServiceStatus } from "../src/ServiceStatus.ts"

interface Moment {
  readonly event: LifecycleEvent
  readonly before: ServiceStatus
  readonly after: ServiceStatus
  readonly commands: ReadonlyArray<LifecycleCommand>
}

const play = (events: ReadonlyArray<LifecycleEvent>): ReadonlyArray<Moment> => {
  let status = initial
  return events.map((event) => {
    const before = status
    const [after, commands] = reduce(before, event)
    status = after
    return { event, before, after, commands }
  })
}

const progressed = (text: string): LifecycleEvent => ({ type: "Progressed", text })
const booted: LifecycleEvent = { type: "Booted" }
const failed: LifecycleEvent = { type: "BootFailed", message: "No index.", action: "Run: index" }
const stop: LifecycleEvent = { type: "StopAsked" }
const update: LifecycleEvent = { type: "StopAsked", targetVersion: "2.0.0" }

describe("a life of a service, event by event", () => {
  const failure = { type: "failed", message: "No index.", action: "Run: index" } as const
  it.each<[string, ReadonlyArray<LifecycleEvent>, ServiceStatus, ReadonlyArray<LifecycleCommand>]>([
    ["nothing happened: it starts", [], { type: "starting" }, []],
    [
      "it says what it does",
      [progressed("one"), progressed("two")],
      { type: "starting", progress: "two" },
      ["Announce", "Announce"]
    ],
    ["it boots", [progressed("one"), booted], { type: "ready" }, ["Announce", "Announce"]],
    ["it boots twice", [booted, booted], { type: "ready" }, ["Announce"]],
    ["it talks after the boot", [booted, progressed("late")], { type: "ready" }, ["Announce"]],
    ["its boot fails, in its own words", [failed], failure, ["Announce"]],
    ["its boot fails after it was ready", [booted, failed], { type: "ready" }, ["Announce"]],
    ["it boots after it failed", [failed, booted], failure, ["Announce"]],
    ["it fails twice: the first words stay", [failed, { ...failed, message: "other" }], failure, ["Announce"]],
    ["it is stopped while it starts", [stop], { type: "stopping" }, ["Announce", "Stop"]],
    ["it boots while it stops", [stop, booted], { type: "stopping" }, ["Announce", "Stop"]],
    ["its boot fails while it stops", [stop, failed], { type: "stopping" }, ["Announce", "Stop"]],
    ["it is stopped after it failed", [failed, stop], { type: "stopping" }, ["Announce", "Announce", "Stop"]],
    [
      "it is stopped for an update",
      [booted, update],
      { type: "stopping", targetVersion: "2.0.0" },
      ["Announce", "Announce", "Stop"]
    ],
    [
      "it is stopped twice: the first target stays",
      [update, stop],
      { type: "stopping", targetVersion: "2.0.0" },
      ["Announce", "Stop"]
    ],
    ["an update comes while it stops", [stop, update], { type: "stopping" }, ["Announce", "Stop"]]
  ])("%s", (_, events, status, commands) => {
    const moments = play(events)
    assert.deepStrictEqual(moments.at(-1)?.after ?? initial, status)
    assert.deepStrictEqual(
      moments.flatMap((moment) => moment.commands),
      commands
    )
  })
})

describe("whatever happens, in whatever order", () => {
  const event = Schema.Union([
    Schema.Struct({ type: Schema.Literal("Progressed"), text: Schema.String }),
    Schema.Struct({ type: Schema.Literal("Booted") }),
    Schema.Struct({ type: Schema.Literal("BootFailed"), message: Schema.String, action: Schema.String }),
    Schema.Struct({ type: Schema.Literal("StopAsked"), targetVersion: Schema.optionalKey(Schema.String) })
  ])
  const lives = Arbitrary.array(Arbitrary.schema(event), { maxLength: 30 })
  const options = { arbitrary: { runs: 500 } }
  const changed = ({ after, before }: Moment) => JSON.stringify(after) !== JSON.stringify(before)
  const count = <A>(list: ReadonlyArray<A>, keep: (one: A) => boolean) => list.filter(keep).length

  it.prop(
    "it turns ready at most once, and only from starting",
    [lives],
    ([events]) => {
      const turns = play(events).filter(({ after, before }) => after.type === "ready" && before.type !== "ready")
      assert.isAtMost(turns.length, 1)
      for (const { before } of turns) assert.strictEqual(before.type, "starting")
    },
    options
  )

  it.prop(
    "stopping is never left, and failed only to stop",
    [lives],
    ([events]) => {
      for (const { after, before } of play(events)) {
        if (before.type === "stopping") assert.deepStrictEqual(after, before)
        if (before.type === "failed" && after.type !== "stopping") assert.deepStrictEqual(after, before)
        if (before.type === "ready") assert.include(["ready", "stopping"], after.type)
        assert.isFalse(after.type === "starting" && before.type !== "starting")
      }
    },
    options
  )

  it.prop(
    "the stop begins at most once, exactly when stopping begins",
    [lives],
    ([events]) => {
      const moments = play(events)
      assert.strictEqual(
        count(moments, ({ commands }) => commands.includes("Stop")),
        Math.min(
          count(events, ({ type }) => type === "StopAsked"),
          1
        )
      )
      for (const { after, before, commands } of moments) {
        assert.strictEqual(commands.includes("Stop"), after.type === "stopping" && before.type !== "stopping")
      }
    },
    options
  )

  it.prop(
    "every change is announced, before the stop; what changes nothing is silent",
    [lives],
    ([events]) => {
      for (const moment of play(events)) {
        if (changed(moment)) assert.strictEqual(moment.commands[0], "Announce")
        if (moment.commands.length === 0) assert.strictEqual(moment.after, moment.before)
        else if (!changed(moment)) assert.strictEqual(moment.event.type, "Progressed")
      }
    },
    options
  )

  it.prop(
    "every status is one that a client can decode",
    [lives],
    ([events]) => {
      for (const { after } of play(events)) assert.isTrue(Schema.is(ServiceStatus)(JSON.parse(JSON.stringify(after))))
    },
    options
  )
})
