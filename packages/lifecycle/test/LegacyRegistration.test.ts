import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { adapt, migrate } from "../src/LegacyRegistration.ts"
import { parseRegistration } from "../src/StartupOutcome.ts"
import { temporary } from "./support.ts"

const ours = { schema: 1, instanceID: "a", version: "2.0.0", url: "http://127.0.0.1:4000", pid: 7 } as const
const legacy = { id: "old", version: "1.0.0", url: "http://127.0.0.1:4096", pid: 42, password: "hunter2" }
const adapted = { schema: 1, instanceID: "old", version: "1.0.0", url: "http://127.0.0.1:4096", pid: 42 } as const

describe("a registration from before Holdfast", () => {
  it.each<[string, unknown, unknown]>([
    ["with everything", legacy, adapted],
    [
      "with a url and a pid alone",
      { url: legacy.url, pid: 42 },
      { ...adapted, instanceID: "legacy-42", version: "unknown" }
    ],
    ["without a pid", { url: legacy.url }, undefined],
    ["without a url", { pid: 42 }, undefined],
    ["with a pid that is text", { ...legacy, pid: "42" }, undefined],
    ["with a pid nobody has", { ...legacy, pid: 0 }, undefined],
    ["with an id of another type", { ...legacy, id: 5 }, undefined],
    ["of ours, damaged", { ...ours, pid: "7" }, undefined],
    ["that is a list", [legacy], undefined],
    ["that is null", null, undefined]
  ])("%s", (_, value, expected) => {
    assert.deepStrictEqual(adapt(value), expected)
    assert.deepStrictEqual(parseRegistration(JSON.stringify(value)), expected)
    assert.notInclude(JSON.stringify(adapt(value)) ?? "", "hunter2")
  })

  it("is not taken for one of a later schema, which is no older shape", () => {
    assert.isUndefined(adapt({ ...ours, schema: 2 }))
    assert.deepStrictEqual(parseRegistration(JSON.stringify({ ...ours, schema: 2 })), ours)
  })

  it.live("is moved once to where ours are, in today's shape", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const [from, to] = [path.join(directory, "server.json"), path.join(directory, "service.json")]
      assert.strictEqual(migrate(from, to), "Nothing")
      fs.writeFileSync(from, JSON.stringify(legacy))
      assert.strictEqual(migrate(from, to), "Moved")
      assert.deepStrictEqual(JSON.parse(fs.readFileSync(to, "utf8")), adapted)
      assert.strictEqual(fs.statSync(to).mode & 0o777, 0o600)
      assert.isFalse(fs.existsSync(from))
      assert.strictEqual(migrate(from, to), "Nothing")
    })
  )

  it.live("never replaces a registration that is there, and what is no legacy record is left alone", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const [from, to] = [path.join(directory, "server.json"), path.join(directory, "service.json")]
      fs.writeFileSync(to, JSON.stringify(ours))
      for (const text of ["{ half", "[]", JSON.stringify(ours)]) {
        fs.writeFileSync(from, text)
        assert.strictEqual(migrate(from, to), "Nothing")
        assert.strictEqual(fs.readFileSync(from, "utf8"), text)
      }
      fs.writeFileSync(from, JSON.stringify(legacy))
      assert.strictEqual(migrate(from, to), "Kept")
      assert.deepStrictEqual(JSON.parse(fs.readFileSync(to, "utf8")), ours)
    })
  )
})
