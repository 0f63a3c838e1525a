import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "vitest"
import { importsOf, mapFile, mapOf, written } from "../architecture.ts"
import { order, sourcesOf } from "../lint-house.ts"

const root = path.join(import.meta.dirname, "../..")

describe("the map of modules", () => {
  it("is what the sources say, with every module in it", () => {
    const text = fs.readFileSync(path.join(root, mapFile), "utf8")
    assert.strictEqual(written(text), mapOf(sourcesOf(root)), "run: npm run architecture")
  })

  it("names a new module, and every arrow of a package", () => {
    const sources = new Map([
      ["packages/lock/src/gate.ts", "/** The gate. More. */\nexport {}"],
      [
        "packages/client/src/Doctor.ts",
        '/**\n * Says what\n * it is.\n *\n * @since 0.1.0\n */\nimport "@holdfast/lock/gate"'
      ]
    ])
    assert.include(mapOf(sources), "| [`gate`](../packages/lock/src/gate.ts) | The gate. |")
    assert.include(mapOf(sources), "| Says what it is. |")
    assert.deepStrictEqual(importsOf(sources, "client"), ["lock"])
  })

  it("has arrows that point one way", () => {
    const sources = sourcesOf(root)
    order.forEach((name, index) =>
      assert.includeMembers(
        order.slice(0, index),
        [...importsOf(sources, name)],
        `${name} imports what stands above it`
      )
    )
  })
})
