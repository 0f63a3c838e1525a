import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Registration } from "../src/Registration.ts"
import { ServiceHealth } from "../src/ServiceHealth.ts"
import { healthOf, parseHandOver, parseOutcome, parseRegistration, registrationOf } from "../src/StartupOutcome.ts"

const registration: Registration = {
  schema: 1,
  instanceID: "one",
  version: "1.0.0",
  url: "http://127.0.0.1:4000",
  pid: 7
}
const health: ServiceHealth = { healthy: true, version: "1.0.0", pid: 7, instanceID: "one", status: { type: "ready" } }

/** The values JSON can carry that are likely to be confused with the right ones. */
const odd: ReadonlyArray<unknown> = [
  null,
  true,
  false,
  0,
  -0,
  1,
  2,
  -7,
  1.5,
  2 ** 53,
  -(2 ** 53),
  1e400,
  "",
  "1",
  "ready",
  "starting",
  "failed",
  "x",
  [],
  {},
  [1],
  { type: "ready" },
  { type: "stopping", targetVersion: null },
  { type: "starting", progress: 1 },
  { type: "failed", message: "m" },
  { type: "odd" }
]

/** A change to one place of a JSON value: removed, replaced, or one more key beside it. */
const mutate = (
  value: unknown,
  path: ReadonlyArray<number>,
  replacement: unknown,
  kind: "remove" | "replace" | "add"
): unknown => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return replacement
  const entries = Object.entries(value)
  const [at = 0, ...deeper] = path
  const index = at % Math.max(entries.length, 1)
  const [name, inner] = entries[index] ?? ["none", undefined]
  if (deeper.length > 0 && typeof inner === "object" && inner !== null) {
    return { ...value, [name]: mutate(inner, deeper, replacement, kind) }
  }
  if (kind === "add") return { ...value, [`extra${at}`]: replacement }
  return kind === "remove"
    ? Object.fromEntries(entries.filter((_, one) => one !== index))
    : { ...value, [name]: replacement }
}

const mutation = Schema.Struct({
  path: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6 }))).check(
    Schema.isBetweenLength(1, 2)
  ),
  replacement: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: odd.length - 1 })),
  kind: Schema.Literals(["remove", "replace", "add"])
})
const mutations = Arbitrary.array(Arbitrary.schema(mutation), { maxLength: 3 })

/** As it would arrive: through JSON. */
const wire = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe("the plain guards say the same as the Schemas", () => {
  const agree = <A>(guard: (value: unknown) => A | undefined, schema: Schema.Codec<A>) => {
    const decode = Schema.decodeUnknownOption(schema)
    return (value: unknown) => {
      assert.deepStrictEqual(guard(value), Option.getOrUndefined(decode(value)), JSON.stringify(value))
      return decode(value)._tag
    }
  }
  const cases = [
    ["Registration", agree(registrationOf, Registration), Registration],
    ["ServiceHealth", agree(healthOf, ServiceHealth), ServiceHealth]
  ] as const

  for (const [name, check, schema] of cases) {
    it.prop(
      `on every ${name} there can be`,
      [schema as Schema.Codec<unknown>],
      ([value]) => {
        assert.strictEqual(check(wire(value)), "Some")
      },
      { arbitrary: { runs: 500 } }
    )

    it.prop(
      `on a ${name} that somebody changed`,
      [schema as Schema.Codec<unknown>, mutations],
      ([value, changes]) => {
        let changed = value
        for (const { kind, path, replacement } of changes) changed = mutate(changed, path, odd[replacement], kind)
        check(wire(changed))
      },
      { arbitrary: { runs: 2000 } }
    )

    it(`on what is no ${name} at all`, () => {
      for (const value of odd) assert.strictEqual(check(wire(value)), "None", JSON.stringify(value))
    })
  }

  it("on a status that says more than it should", () => {
    cases[1][1](wire({ ...health, status: { type: "ready", stack: "at x" } }))
  })

  it("the mutations reach both answers", () => {
    const answers = odd.flatMap((replacement) =>
      [0, 1, 2, 3, 4].map((at) => cases[0][1](wire(mutate(registration, [at], replacement, "replace"))))
    )
    assert.sameMembers([...new Set(answers)], ["Some", "None"])
  })
})

describe("a registration file's text", () => {
  it("of the five fields is decoded, and what else is in it is dropped", () => {
    assert.deepStrictEqual(parseRegistration(JSON.stringify(registration)), registration)
    assert.deepStrictEqual(parseRegistration(`${JSON.stringify({ ...registration, more: 1 })}\n`), registration)
  })
  it.each<[string, object, boolean]>([
    ["of a later schema is read as far as it says the same", { schema: 2, more: { of: "it" } }, true],
    ["of a much later schema too", { schema: 900 }, true],
    ["of a later schema without a pid is none", { schema: 2, pid: undefined }, false],
    ["of a later schema with an address of another kind is none", { schema: 2, url: ["a", "b"] }, false],
    ["of a schema that is text is none", { schema: "2" }, false],
    ["of a schema before the first is none", { schema: 0 }, false]
  ])("%s", (_, change, understood) => {
    const found = parseRegistration(JSON.stringify({ ...registration, ...change }))
    assert.deepStrictEqual(found, understood ? registration : undefined)
  })
  it.each([
    "",
    " ",
    "{",
    "null",
    "[]",
    "1",
    JSON.stringify(registration).slice(0, -1),
    `${JSON.stringify(registration)}x`,
    JSON.stringify([registration])
  ])("%j is none", (text) => {
    assert.isUndefined(parseRegistration(text))
  })
})

describe("a line of the startup pipe", () => {
  const unusable = {
    type: "unusable",
    kind: "port",
    path: "127.0.0.1:80",
    message: "Taken.",
    action: "Choose another."
  } as const
  it.each([
    { type: "starting", registration, token: "t" },
    { type: "ready" },
    { type: "failed", message: "m", action: "a" },
    { type: "held" },
    { type: "held", pid: 7 },
    ...(["directory", "credential", "lock", "port"] as const).map((kind) => ({ ...unusable, kind }))
  ] as const)("%j is decoded as it was said", (outcome) => {
    assert.deepStrictEqual(parseOutcome(JSON.stringify(outcome)), outcome)
  })

  it.each<[string, unknown]>([
    ["another type", { type: "odd" }],
    ["no type", {}],
    ["starting without its registration", { type: "starting", token: "t" }],
    [
      "starting with a broken registration",
      { type: "starting", registration: { ...registration, pid: "7" }, token: "t" }
    ],
    ["starting without a token", { type: "starting", registration }],
    ["starting with an empty token", { type: "starting", registration, token: "" }],
    ["starting with a token that is no text", { type: "starting", registration, token: 1 }],
    ["failed without its action", { type: "failed", message: "m" }],
    ["unusable without a path", { ...unusable, path: undefined }],
    ["unusable of a kind that nobody knows", { ...unusable, kind: "odd" }],
    ["a list", [{ type: "ready" }]],
    ["text", "ready"]
  ])("%s is not decoded", (_, value) => {
    assert.isUndefined(parseOutcome(JSON.stringify(value)))
  })

  it.each(["", "ready", "Debugger listening on ws://127.0.0.1", '{"type":"ready"', "\0"])(
    "what a program prints there, %j, is not decoded",
    (line) => {
      assert.isUndefined(parseOutcome(line))
    }
  )

  it("is decoded without what else is in it", () => {
    assert.deepStrictEqual(parseOutcome(JSON.stringify({ ...unusable, stack: "at x" })), unusable)
    assert.deepStrictEqual(parseOutcome(JSON.stringify({ type: "ready", more: 1 })), { type: "ready" })
  })
})

describe("the hand-over", () => {
  const handOver = { app: "hello", channel: "stable", profile: "default", directory: "/s" }
  it("that is not set is none", () => {
    for (const value of [undefined, ""]) assert.isUndefined(parseHandOver(value))
  })
  it.each([handOver, { ...handOver, pipe: 4 }, { ...handOver, foreground: true }])(
    "%j is decoded as it was set",
    (value) => {
      assert.deepStrictEqual(parseHandOver(JSON.stringify(value)), value)
    }
  )
  it.each<[string, string]>([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["without a directory", JSON.stringify({ ...handOver, directory: undefined })],
    ["with an empty directory", JSON.stringify({ ...handOver, directory: "" })],
    ["with an application that is no text", JSON.stringify({ ...handOver, app: 1 })],
    ["with a pipe that is no descriptor", JSON.stringify({ ...handOver, pipe: "4" })],
    ["with a foreground that is no yes or no", JSON.stringify({ ...handOver, foreground: "no" })]
  ])("%s is refused in one sentence that names the variable", (_, value) => {
    assert.throws(() => parseHandOver(value), /^HOLDFAST_SERVICE is not a hand-over\. [^\n]+\.$/)
  })
})
