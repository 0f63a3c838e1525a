import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { Spawned } from "../src/Spawner.ts"
import {
  afterCrash,
  hasCrashed,
  afterSpawn,
  backoffMs,
  decide,
  type Found,
  initial,
  type Intent,
  isOtherwise,
  type Memory,
  ownerLives,
  remember,
  stateOf,
  type Step
} from "../src/internal/decide.ts"
import { ServiceState } from "../src/ServiceState.ts"
import { healthOf, held, missing, otherwise, reachable, registration, session, unreachable } from "./support.ts"

const intent = (mode: Intent["mode"], more: Partial<Intent> = {}): Intent => ({
  mode,
  maySpawn: true,
  accepts: (version) => version === "1.0.0",
  maxSpawns: Number.POSITIVE_INFINITY,
  asked: false,
  ...more
})
const anyOf = { launch: intent("launch"), reconnect: intent("reconnect"), ensure: intent("ensure", { maxSpawns: 3 }) }
const observing = { maySpawn: false }
const memory = (more: Partial<Memory>): Memory => ({ ...initial, ...more })
const now = 100_000
const failed = { type: "failed", message: "m", action: "a" } as const

type Row = readonly [name: string, intent: Intent, memory: Memory, found: Found, age: number, step: Step]
const both = (name: string, memory: Memory, found: Found, step: Step): ReadonlyArray<Row> =>
  Object.values(anyOf).map((one) => [`${one.mode}: ${name}`, one, memory, found, 0, step])

describe("what a client does next, when nobody can be reached", () => {
  it.each<Row>([
    ...both("nobody is there: it starts one", initial, missing, "Spawn"),
    ...both("the registered owner is dead: it starts one", initial, unreachable("dead"), "Spawn"),
    ...both(
      "the registered owner cannot be identified: it starts one, which loses if there is an owner",
      initial,
      unreachable("unknown"),
      "Spawn"
    ),
    ...both("its own contender is on its way: it waits", memory({ contending: true }), missing, "Wait"),
    ...both("the backoff is not over: it waits", memory({ spawns: 1, nextSpawnAt: now + 1 }), missing, "Wait"),
    ...both("the backoff is over: it starts the next", memory({ spawns: 1, nextSpawnAt: now }), missing, "Spawn"),
    ...both(
      "the owner lives and is silent for less than ten seconds: it waits",
      memory({ silentSince: now - 9_999 }),
      unreachable("alive"),
      "Wait"
    ),
    ...both(
      "the owner lives and is silent for ten seconds: it lets a contender find out",
      memory({ silentSince: now - 10_000 }),
      unreachable("alive"),
      "Spawn"
    ),
    ...both("an owner lives that is not registered yet: it waits", memory({ silentSince: now - 9_999 }), held, "Wait"),
    ["ensure: it has started three: no more", anyOf.ensure, memory({ spawns: 3 }), missing, 0, "Wait"],
    ["ensure: it has started two: one more", anyOf.ensure, memory({ spawns: 2 }), missing, 0, "Spawn"],
    ["launch: it has started a hundred: one more", anyOf.launch, memory({ spawns: 100 }), missing, 0, "Spawn"],
    ...Object.values(anyOf).flatMap((one): ReadonlyArray<Row> =>
      [missing, unreachable("dead"), unreachable("alive"), held].map((found) => [
        `${one.mode}, which may not start anything: ${found._tag}: it waits`,
        { ...one, ...observing },
        initial,
        found,
        0,
        "Wait"
      ])
    )
  ])("%s", (_, one, remembered, found, age, step) => {
    assert.strictEqual(decide(one, remembered, found, now, age), step)
  })
})

describe("what a client does next, when the owner answers", () => {
  const old = 10_001
  it.each<Row>([
    ...both("it is ready: use it", initial, reachable({ type: "ready" }), "Use"),
    ...both("it starts: wait", initial, reachable({ type: "starting", progress: "x" }), "Wait"),
    ...both("it stops: wait", initial, reachable({ type: "stopping" }), "Wait"),
    ...both(
      "it stops for an update: wait",
      initial,
      reachable({ type: "stopping", targetVersion: "2" }, "0.9.0"),
      "Wait"
    ),
    [
      "launch: another version is ready: replace it",
      anyOf.launch,
      initial,
      reachable({ type: "ready" }, "2.0.0"),
      0,
      "Replace"
    ],
    [
      "launch: another version starts: replace it",
      anyOf.launch,
      initial,
      reachable({ type: "starting" }, "2.0.0"),
      0,
      "Replace"
    ],
    ["launch: another version failed: replace it", anyOf.launch, initial, reachable(failed, "2.0.0"), 0, "Replace"],
    [
      "launch: another version, seen later: replace it",
      anyOf.launch,
      memory({ first: false, spawns: 2 }),
      reachable({ type: "ready" }, "2.0.0"),
      0,
      "Replace"
    ],
    [
      "launch: another version, which was asked and did not answer: ask it again",
      anyOf.launch,
      memory({ asked: "one" }),
      reachable({ type: "ready" }, "2.0.0"),
      0,
      "Replace"
    ],
    [
      "launch: yet another version, after one that may have agreed: no second one",
      anyOf.launch,
      memory({ asked: "another" }),
      reachable({ type: "ready" }, "2.0.0"),
      0,
      "Mismatch"
    ],
    [
      "launch: yet another version after a replacement: no second one",
      anyOf.launch,
      memory({ replaced: true }),
      reachable({ type: "ready" }, "3.0.0"),
      0,
      "Mismatch"
    ],
    [
      "launch that may not start: another version is a mismatch",
      intent("launch", observing),
      initial,
      reachable({ type: "ready" }, "2.0.0"),
      0,
      "Mismatch"
    ],
    ["ensure: any version will do", anyOf.ensure, initial, reachable({ type: "ready" }, "2.0.0"), 0, "Use"],
    ["reconnect: any version will do", anyOf.reconnect, initial, reachable({ type: "ready" }, "2.0.0"), 0, "Use"],
    [
      "launch: it failed long ago, and this is the first look: replace it",
      anyOf.launch,
      initial,
      reachable(failed),
      old,
      "Replace"
    ],
    ["launch: it failed just now: show it", anyOf.launch, initial, reachable(failed), 10_000, "ShowFailure"],
    [
      "launch: it failed while we waited: show it",
      anyOf.launch,
      memory({ first: false }),
      reachable(failed),
      old,
      "ShowFailure"
    ],
    [
      "launch: it failed again after a replacement: show it",
      anyOf.launch,
      memory({ replaced: true }),
      reachable(failed),
      old,
      "ShowFailure"
    ],
    [
      "launch that may not start: it failed long ago: show it",
      intent("launch", observing),
      initial,
      reachable(failed),
      old,
      "ShowFailure"
    ],
    [
      "ensure: it failed long ago: show it, replace nobody",
      anyOf.ensure,
      initial,
      reachable(failed),
      old,
      "ShowFailure"
    ],
    ["reconnect: it failed: wait for the one that repairs it", anyOf.reconnect, initial, reachable(failed), old, "Wait"]
  ])("%s", (_, one, remembered, found, age, step) => {
    assert.strictEqual(decide(one, remembered, found, now, age), step)
  })
})

describe("what a client does next, when an owner that lives speaks another protocol", () => {
  const other = otherwise("alive", "0.9.0")
  const long = memory({ silentSince: now - 60_000 })
  it.each<Row>([
    ["launch: of another version: replace it", anyOf.launch, initial, other, 0, "Replace"],
    [
      "launch: of another version, after a replacement: no second one",
      anyOf.launch,
      memory({ replaced: true }),
      other,
      0,
      "Mismatch"
    ],
    ["launch that may not start: a mismatch", intent("launch", observing), initial, other, 0, "Mismatch"],
    ["launch: our own contender: it is what is installed", anyOf.launch, memory({ own: "one" }), other, 0, "Mismatch"],
    ["launch: of the version that is wanted: wait", anyOf.launch, long, otherwise("alive"), 0, "Wait"],
    ["reconnect: wait, for ever, and start nobody", anyOf.reconnect, long, other, 0, "Wait"],
    ["ensure: wait, and start nobody", anyOf.ensure, long, other, 0, "Wait"],
    [
      "launch: one that proved itself and cannot be seen from here: replace it",
      anyOf.launch,
      initial,
      otherwise("unknown", "0.9.0", session),
      0,
      "Replace"
    ],
    ...both("a stranger on the port of a dead owner is nobody", initial, otherwise("dead", "0.9.0"), "Spawn"),
    ...both(
      "a stranger on the port of one that cannot be identified is nobody",
      initial,
      otherwise("unknown", "0.9.0"),
      "Spawn"
    )
  ])("%s", (_, one, remembered, found, age, step) => {
    assert.strictEqual(decide(one, remembered, found, now, age), step)
  })
})

describe("what a client does next, when an owner may be its own contender", () => {
  const v1 = anyOf.launch
  const other = reachable({ type: "ready" }, "2.0.0")
  it.each<Row>([
    [
      "launch: its own contender is of another version: that is what is installed",
      v1,
      memory({ own: "one" }),
      other,
      0,
      "Mismatch"
    ],
    ["launch: another's contender is of another version: replace it", v1, memory({ own: "two" }), other, 0, "Replace"],
    [
      "reconnect: its own contender is of another version: use it",
      anyOf.reconnect,
      memory({ own: "one" }),
      other,
      0,
      "Use"
    ]
  ])("%s", (_, one, remembered, found, age, step) => {
    assert.strictEqual(decide(one, remembered, found, now, age), step)
  })
})

describe("a queue for the spawn lock", () => {
  const how = { jitter: 0.5, since: 50 }
  const queued = (stuck: boolean, from = initial, at = now) =>
    afterSpawn(from, { _tag: "Queued", stuck, crashes: { crashes: 0 } }, at, how)

  it("is left after three seconds and jitter when nobody gets on with it, after ten when somebody does", () => {
    for (const [stuck, patience] of [
      [true, 4000],
      [false, 11_000]
    ] as const) {
      const waiting = queued(stuck)
      assert.strictEqual(decide(anyOf.launch, waiting, missing, now + patience - 1, 0), "Spawn")
      assert.strictEqual(decide(anyOf.launch, waiting, missing, now + patience, 0), "SpawnAnyway")
    }
  })

  it("is one queue however often one asks, and whoever is found ends it", () => {
    const later = queued(true, queued(true), now + 2000)
    assert.strictEqual(later.queue?.until, now + 4000)
    for (const found of [reachable({ type: "starting" }), held, unreachable("alive")]) {
      assert.isUndefined(remember(later, found, now + 2500).queue)
    }
    assert.isDefined(remember(later, missing, now + 2500).queue)
    for (const spawned of [{ _tag: "Found" }, { _tag: "TooOften", ms: 1, crashes: { crashes: 0 } }] as const) {
      assert.isUndefined(afterSpawn(later, spawned, now, how).queue)
    }
  })

  it("a service that was started too often is waited for, without a start of one's own", () => {
    const waiting = afterSpawn(initial, { _tag: "TooOften", ms: 3000, crashes: { crashes: 0 } }, now, how)
    assert.strictEqual(waiting.spawns, 0)
    assert.strictEqual(decide(anyOf.launch, waiting, missing, now + 2999, 0), "Wait")
    assert.strictEqual(decide(anyOf.launch, waiting, missing, now + 3000, 0), "Spawn")
  })

  it("a launch gives up when three starts ended at once, its own or others' since it began; nobody else does", () => {
    const crashes = { crashes: 3, first: "why", last: "again", crashedAt: 50 }
    const told = afterSpawn(initial, { _tag: "TooOften", ms: 3000, crashes }, now, how)
    const own = [1, 2, 3].reduce((one, count) => afterCrash(one, `why ${count}`), initial)
    const before = afterSpawn(initial, { _tag: "TooOften", ms: 3000, crashes: { ...crashes, crashedAt: 49 } }, now, how)
    assert.deepStrictEqual(
      [told, own, before].map((one) => decide(anyOf.launch, one, missing, now, 0)),
      ["GiveUp", "GiveUp", "Wait"]
    )
    assert.deepStrictEqual([told.cause, own.cause], ["why", "why 1"])
    for (const one of [anyOf.ensure, anyOf.reconnect])
      assert.notStrictEqual(decide(one, own, missing, now, 0), "GiveUp")
  })
})

describe("silence", () => {
  it.each<[string, Found, boolean]>([
    ["a registered owner that lives", unreachable("alive"), true],
    ["an owner that lives and is not registered", held, true],
    ["a registered owner that is dead", unreachable("dead"), false],
    ["one that cannot be identified", unreachable("unknown"), false],
    ["nobody", missing, false],
    ["one that answers", reachable({ type: "ready" }), false]
  ])("of %s counts: %s", (name, found, counts) => {
    assert.strictEqual(ownerLives(found), counts, name)
    const since = remember(remember(initial, found, 1000), found, 5000).silentSince
    assert.strictEqual(since, counts ? 1000 : undefined, "from its beginning")
    assert.strictEqual(
      remember(memory({ silentSince: 1 }), found, 5000).silentSince,
      counts ? 1 : undefined,
      "an answer ends it"
    )
  })
})

it("the pause before each spawn doubles from 250 ms to 5 s, for ever", () => {
  assert.deepStrictEqual([1, 2, 3, 4, 5, 6, 7, 1000].map(backoffMs), [250, 500, 1000, 2000, 4000, 5000, 5000, 5000])
})

it("what is found is a state that can be printed and read again", () => {
  const statuses = [
    { type: "starting" },
    { type: "starting", progress: "x" },
    { type: "ready" },
    { type: "stopping", targetVersion: "2" },
    failed
  ] as const
  const all = [
    missing,
    held,
    unreachable("alive"),
    unreachable("dead"),
    unreachable("unknown"),
    otherwise("alive"),
    ...statuses.map((status) => reachable(status))
  ]
  for (const found of all) {
    const state = stateOf(found)
    assert.deepStrictEqual(Schema.decodeUnknownSync(ServiceState)(JSON.parse(JSON.stringify(state))), state)
  }
  assert.deepStrictEqual(stateOf(held), { status: { type: "missing" }, registration: null, health: null })
  assert.deepStrictEqual(stateOf(unreachable("dead")), { status: { type: "unreachable" }, registration, health: null })
  assert.deepStrictEqual(stateOf(otherwise("alive")).status, { type: "unreachable", protocol: "other" })
  assert.deepStrictEqual(stateOf(otherwise("unknown")).status, { type: "unreachable" })
  assert.deepStrictEqual(stateOf(reachable({ type: "ready" })), {
    status: { type: "ready" },
    registration,
    health: healthOf({ type: "ready" })
  })
})

describe("over a whole call, whatever is found and however often", () => {
  const statuses = ["starting", "ready", "stopping", "failed"] as const
  const moment = Schema.Struct({
    found: Schema.Literals(["missing", "held", "alive", "dead", "unknown", "otherwise", ...statuses]),
    version: Schema.Literals(["1.0.0", "2.0.0"]),
    passed: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12_000 })),
    contenderEnds: Schema.Boolean,
    spawned: Schema.Literals(["Started", "Queued", "TooOften", "Found"])
  })
  const story = Arbitrary.array(Arbitrary.schema(moment), { maxLength: 40 })
  const foundOf = ({ found, version }: typeof moment.Type): Found => {
    switch (found) {
      case "missing":
        return missing
      case "held":
        return held
      case "alive":
      case "dead":
      case "unknown":
        return unreachable(found)
      case "otherwise":
        return otherwise("alive", version)
      case "failed":
        return reachable(failed, version)
      default:
        return reachable({ type: found }, version)
    }
  }
  const spawnedOf = (tag: (typeof moment.Type)["spawned"]): Spawned => {
    switch (tag) {
      case "Started":
        return { _tag: tag, contender: { pid: 1, events: undefined as never } }
      case "Queued":
        return { _tag: tag, stuck: true, crashes: { crashes: 0 } }
      case "TooOften":
        return { _tag: tag, ms: 3000, crashes: { crashes: 0 } }
      case "Found":
        return { _tag: tag }
    }
  }
  const tell = (one: Intent, moments: ReadonlyArray<typeof moment.Type>) => {
    let remembered = initial
    let at = 0
    return moments.map((each) => {
      at += each.passed
      const found = foundOf(each)
      const before = (remembered = remember(
        { ...remembered, contending: remembered.contending && !each.contenderEnds },
        found,
        at
      ))
      const step = decide(one, before, found, at, 60_000)
      remembered = { ...before, first: false }
      if (step === "Spawn" || step === "SpawnAnyway") {
        const spawned = spawnedOf(step === "SpawnAnyway" ? "Started" : each.spawned)
        remembered = afterSpawn(remembered, spawned, at, { jitter: 0.5, since: 0 })
      }
      if (step === "Replace") remembered = { ...remembered, replaced: true }
      return { at, found, before, step, started: remembered.spawns > before.spawns }
    })
  }
  const options = { arbitrary: { runs: 400 } }

  it.prop(
    "a launch replaces at most once, and the other two never",
    [story],
    ([moments]) => {
      const count = (one: Intent) => tell(one, moments).filter(({ step }) => step === "Replace").length
      assert.isAtMost(count(anyOf.launch), 1)
      assert.deepStrictEqual(
        [count(anyOf.reconnect), count(anyOf.ensure), count(intent("launch", observing))],
        [0, 0, 0]
      )
    },
    options
  )

  it.prop(
    "nobody starts a second contender beside a first, too soon after it, or while somebody answers",
    [story],
    ([moments]) => {
      for (const one of Object.values(anyOf)) {
        for (const { at, before, found, step } of tell(one, moments)) {
          if (step !== "Spawn" && step !== "SpawnAnyway") continue
          assert.isFalse(before.contending)
          assert.isAtLeast(at, before.nextSpawnAt)
          assert.notStrictEqual(found._tag, "Reachable")
          assert.isFalse(isOtherwise(found))
          if (ownerLives(found)) assert.isAtLeast(at - before.silentSince!, 10_000)
        }
      }
    },
    options
  )

  it.prop(
    "an ensure starts at most three, and who may not start starts none",
    [story],
    ([moments]) => {
      const count = (one: Intent) => tell(one, moments).filter(({ started }) => started).length
      assert.isAtMost(count(anyOf.ensure), 3)
      for (const one of Object.values(anyOf)) assert.strictEqual(count({ ...one, ...observing }), 0)
    },
    options
  )

  it.prop(
    "a reconnect ends with nothing but a service to use",
    [story],
    ([moments]) => {
      for (const { step } of tell(anyOf.reconnect, moments))
        assert.include(["Use", "Wait", "Spawn", "SpawnAnyway"], step)
    },
    options
  )
})

describe("the end of a contender", () => {
  it("is a crash when it failed, or when it said nothing of what became of it", () => {
    assert.isTrue(hasCrashed({ code: 1, from: 7 }, new Set([7])))
    assert.isTrue(hasCrashed({ code: null, from: 7 }, new Set([7])))
    assert.isTrue(hasCrashed({ code: 0, from: 7 }, new Set()))
    assert.isFalse(hasCrashed({ code: 0, from: 7 }, new Set([7])))
  })

  it("that had said that it lost is none, also when the next one has been started and has said nothing yet", () => {
    const [lost, next] = [7, 8]
    const spoke = new Set([lost])
    assert.isFalse(hasCrashed({ code: 0, from: lost }, spoke))
    assert.isTrue(hasCrashed({ code: 0, from: next }, spoke))
  })
})
