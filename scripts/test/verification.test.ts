import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "vitest"
import { readTests } from "../read-tests.ts"
import { kinds, ours, tables } from "../verification-rows.ts"
import { checkKinds, checkTables, rowsOf, sentenceOf } from "../verification.ts"

const root = path.join(import.meta.dirname, "../..")
const inTree = (file: string): string | undefined =>
  fs.existsSync(path.join(root, file)) ? fs.readFileSync(path.join(root, file), "utf8") : undefined

/** A small document over small sources; each case changes one of them. */
const rows = { "Election tests": [["Winner crashes", "Lock releases"]], Criteria: [["No `owner` is lost."]] }
const table = `
## Election tests

| Scenario | Required result | Test |
| --- | --- | --- |
| Winner crashes | Lock releases | [\`a\`](../test/a.test.ts) \`Winner crashes: lock releases; at once\` |

## Criteria

| Criterion | Test |
| --- | --- |
| No \`owner\` is lost. | [\`a\`](../test/a.test.ts) \`group > No owner is lost\`<br>[\`a\`](../test/a.test.ts) \`No owner is lost, under Bun\` |
`
const source = `
it.live("Winner crashes: lock releases; at once", f)
describe.concurrent("group", () => {
  it.live.skipIf(bun === undefined)("No owner is lost", f)
})
for (const runtime of ["Node", "Bun"]) it(\`No owner is lost, under \${runtime}\`, f)
`
const ofTables = (markdown = table, text: string | undefined = source) =>
  checkTables(markdown, rows, [], (file) => (file === "test/a.test.ts" ? text : undefined)).join("\n")
const kindTable = `
| Kind | Tests | What we do |
| --- | --- | --- |
| K01 A crash | [\`a\`](../test/a.test.ts) \`group > No owner is lost\` | Nothing is to be done. |
| K02 A named pipe | Not on Linux | It is Windows's. |
`
const ofKinds = (markdown = kindTable, text: string | undefined = source) =>
  checkKinds(markdown, ["K01", "K02"], (file) => (file === "test/a.test.ts" ? text : undefined)).join("\n")

/** One text for another, which must be there. */
const but = (text: string, from: string, to: string): string => {
  assert.include(text, from)
  return text.replace(from, to)
}

describe("the check of the verification tables", () => {
  it("finds nothing in a document that is right", () => assert.strictEqual(ofTables(), ""))

  it.each([
    ["a row that is gone", but(table, "| Winner crashes |", "| Loser crashes |"), source, /there 0 times/],
    ["a row under another heading", but(table, "## Election tests", "## Others"), source, /there 0 times/],
    ["a row that is there twice", but(table, "\n## Criteria", `${table.split("\n")[5]}\n\n## Criteria`), source, /./],
    ["a changed word of a row", but(table, "| Lock releases |", "| Lock is free |"), source, /there 0 times/],
    ["a row without a test", but(table, /\[`a`.*at once`/.exec(table)![0], ""), source, /names no test/],
    ["a test of another name", but(table, "at once` |", "soon` |"), source, /has no test “Winner crashes.*soon”/],
    ["a test that is gone", table, but(source, "at once", "soon"), /has no test/],
    ["a test in another group", but(table, "group >", "herd >"), source, /has no test “herd > No owner/],
    ["a file that is gone", but(table, "../test/a", "../test/b"), source, /test\/b.test.ts is not there/],
    [
      "a case that is none",
      but(table, "under Bun", "under Deno"),
      source,
      /has no test “No owner is lost, under Deno”/
    ],
    ["a test that is commented out", table, but(source, "it.live(", "// it.live("), /has no test/],
    ["a test that is skipped", table, but(source, "it.live(", "it.live.skip("), /is skipped/],
    ["a test whose group is skipped", table, but(source, "describe.concurrent(", "describe.skip("), /is skipped/],
    ["a test that is always skipped", table, but(source, "skipIf(bun === undefined)", "skipIf(true)"), /is skipped/],
    ["a test that is skipped by an option", table, but(source, 'once", f', 'once", { skip: true }, f'), /is skipped/],
    [
      "a test to be written",
      table,
      but(
        source,
        'it.live("Winner crashes: lock releases; at once", f)',
        'it.todo("Winner crashes: lock releases; at once")'
      ),
      /is skipped/
    ],
    [
      "a test that is not named after its row",
      but(table, "Winner crashes: lock releases; at once", "group > No owner is lost"),
      source,
      /not called “Winner crashes: lock releases…”/
    ]
  ])("finds %s", (_what, markdown, text, problem) => assert.match(ofTables(markdown, text), problem))

  it("takes a row's words as they are, but for code of others and for capitals in the middle", () => {
    assert.strictEqual(sentenceOf(["Owner exits", "TUI `stopping` is shown"], []), "Owner exits: TUI stopping is shown")
    assert.strictEqual(sentenceOf(["`renewServer`", "It fails"], [["`renewServer`", "Renewal"]]), "Renewal: it fails")
    assert.strictEqual(sentenceOf(["A TUI stays."], []), "A TUI stays")
  })
})

describe("the check of the fault kinds", () => {
  it("finds nothing in a document that is right", () => assert.strictEqual(ofKinds(), ""))

  it.each([
    ["a kind that is gone", but(kindTable, "| K02 ", "| K03 "), source, /^K02: is there 0 times/],
    [
      "a kind without a test",
      but(kindTable, /\[`a`.*lost`/.exec(kindTable)![0], "none"),
      source,
      /^K01: names no test/
    ],
    ["a kind of which nothing is said", but(kindTable, "Nothing is to be done. ", ""), source, /does not say/],
    ["a test that is gone", kindTable, but(source, '"No owner is lost"', '"All is lost"'), /^K01: .*has no test/],
    ["a test that is skipped", kindTable, but(source, "skipIf(bun === undefined)", "skip"), /^K01: .*is skipped/]
  ])("finds %s", (_what, markdown, text, problem) => assert.match(ofKinds(markdown, text), problem))
})

describe("the names of tests", () => {
  it("are found however a test is written", () => {
    const { tests } = readTests(
      "a.test.ts",
      `import { it } from "vitest"
       it("one", f); it.effect("two", f); it.live.skipIf(x)("three", f); it.prop("four", [a], f)
       it.each<[string]>([["a"]])("five %s and %j", f)
       it.each([{ what: "b" }])("six $what", f)
       it.live(\`seven \${a}\`, f)
       it.live("eight " + a, f)
       notIt("nine", f)`
    )
    assert.deepStrictEqual(
      tests.map(({ names }) => names.at(-1)),
      [["one"], ["two"], ["three"], ["four"], ["five ", " and ", ""], ["six ", ""], ["seven ", ""], ["eight ", ""]]
    )
  })
})

describe("in this repository", () => {
  it("docs/verification.md has each row of the design's tables, with a test of that name", () => {
    assert.deepStrictEqual(checkTables(inTree("docs/verification.md")!, tables, ours, inTree), [])
  })

  it("docs/verification.md has no row besides", () => {
    const count = Object.values(tables).flat().length
    // each table also has its line of headings
    assert.lengthOf(rowsOf(inTree("docs/verification.md")!), count + Object.keys(tables).length)
  })

  it("docs/fault-kinds.md has each kind of fault, with tests that are there and run", () => {
    assert.deepStrictEqual(checkKinds(inTree("docs/fault-kinds.md")!, kinds, inTree), [])
  })
})
