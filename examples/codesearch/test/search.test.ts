import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { chunkSize, split } from "../src/Chunk.ts"
import { cut, hits, longestText, pattern } from "../src/Match.ts"
import { finds, followed, index, names, tree, write } from "./tree.ts"

const found = (text: string, query: string) =>
  split(text).flatMap((chunk) => hits("/file", chunk, pattern(query), 1000))

describe("a search", () => {
  it.live("answers the file, the line, the column and where in the line the text is, whatever the case", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "src/a.ts": "first\n\tconst Needle = needle\r\nlast" })
      const self = yield* index()
      yield* followed(self, root)
      assert.deepStrictEqual(yield* self.search({ q: "NEEDLE" }), [
        {
          file: `${root}/src/a.ts`,
          line: 2,
          column: 8,
          text: "\tconst Needle = needle",
          matches: [
            { start: 7, end: 13 },
            { start: 16, end: 22 }
          ]
        }
      ])
    })
  )

  it.live("takes every character of the query literally", () =>
    Effect.gen(function* () {
      const queries = [
        "a%b",
        "a_b",
        '"quoted"',
        "it's",
        "a*b",
        "(x|y)",
        "[0-9]+",
        "\\d",
        "NEAR(a b)",
        "-- no",
        "a AND b"
      ]
      const root = yield* tree({ "all.txt": queries.join("\n"), "none.txt": "aXb ab xy 5 d near" })
      const self = yield* index()
      yield* followed(self, root)
      for (const [at, q] of queries.entries()) {
        const answer = yield* self.search({ q })
        assert.deepStrictEqual(
          answer.map(({ line }) => line),
          [at + 1],
          q
        )
      }
    })
  )

  it.live("finds text of one and of two characters", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.txt": "nothing\nq", "b.txt": "xy" })
      const self = yield* index()
      yield* followed(self, root)
      assert.deepStrictEqual(names(root, yield* self.search({ q: "Q" })), ["a.txt"])
      assert.deepStrictEqual(names(root, yield* self.search({ q: "xY" })), ["b.txt"])
    })
  )

  it.live("finds letters of other scripts and characters outside the first plane", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.txt": "Привет, мир\nnaïve Ärger\n漢字かな\n🦊🦊🦊 fox" })
      const self = yield* index()
      yield* followed(self, root)
      const line = (q: string) => Effect.map(self.search({ q }), (answer) => answer.map((hit) => hit.line))
      assert.deepStrictEqual(yield* line("ПРИВЕТ"), [1])
      assert.deepStrictEqual(yield* line("äRGER"), [2])
      assert.deepStrictEqual(yield* line("漢字か"), [3])
      assert.deepStrictEqual(yield* line("🦊🦊 F"), [4])
    })
  )

  it.live("stays inside the directory it is given", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a/x.txt": "word", "a/b/x.txt": "word", "a-b/x.txt": "word", "x.txt": "word" })
      const self = yield* index()
      yield* followed(self, root)
      for (const q of ["word", "wo"]) {
        const inside = (dir: string) => Effect.map(self.search({ q, dir }), (answer) => names(root, answer))
        assert.deepStrictEqual(yield* inside(`${root}/a`), ["a/x.txt", "a/b/x.txt"])
        assert.deepStrictEqual(yield* inside(`${root}/a/`), ["a/x.txt", "a/b/x.txt"])
        assert.deepStrictEqual(yield* inside(`${root}/missing`), [])
        assert.strictEqual((yield* inside("/")).length, 4)
      }
    })
  )

  it.live("answers in the order of directories, names and lines, and no more than its limit", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "b.txt": "word\n\nword", "a.txt": "word", "c/a.txt": "word" })
      const self = yield* index()
      yield* followed(self, root)
      yield* write(root, { "a.txt": "again\nword" })
      yield* finds(self, root, "again", ["a.txt"])
      const expected = ["a.txt", "b.txt", "b.txt", "c/a.txt"]
      assert.deepStrictEqual(names(root, yield* self.search({ q: "word" })), expected)
      assert.deepStrictEqual(names(root, yield* self.search({ q: "wo" })), expected)
      assert.deepStrictEqual(names(root, yield* self.search({ q: "word", limit: 2 })), expected.slice(0, 2))
    })
  )

  it.live("answers a line once, even one so long that the index keeps it in pieces that overlap", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "min.js": `${"-".repeat(chunkSize - 100)}needle${"-".repeat(chunkSize)}` })
      const self = yield* index()
      yield* followed(self, root)
      const columns = (q: string) => Effect.map(self.search({ q }), (answer) => answer.map(({ column }) => column))
      assert.deepStrictEqual(yield* columns("needle"), [chunkSize - 99])
      assert.deepStrictEqual(yield* columns("ne"), [chunkSize - 99])
    })
  )

  it.live("finds nothing for a text of several lines", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.txt": "one\ntwo" })
      const self = yield* index()
      yield* followed(self, root)
      assert.deepStrictEqual(yield* self.search({ q: "one\ntwo" }), [])
    })
  )
})

describe("a line", () => {
  it("is cut around its first match when it is long", () => {
    const line = "a".repeat(5000) + "Needle" + "b".repeat(5000)
    const [hit] = found(line, "needle")
    assert.strictEqual(hit?.column, 5001)
    assert.strictEqual(hit?.text.length, longestText + 2)
    assert.isTrue(hit!.text.startsWith("…") && hit!.text.endsWith("…"))
    assert.strictEqual(hit?.text.slice(hit.matches[0]!.start, hit.matches[0]!.end), "Needle")
  })

  it("never loses half a character where it is cut", () => {
    for (const before of [100, 101]) {
      const { text } = cut("🦊".repeat(before) + "x".repeat(500) + "🦊".repeat(300), [{ start: 201, end: 202 }])
      assert.strictEqual(Buffer.from(text).toString(), text)
    }
  })

  it("longer than a chunk answers one hit, also for a match on the seam", () => {
    for (const at of [10, chunkSize - 3, chunkSize + 10, 3 * chunkSize - 300]) {
      const line = "-".repeat(at) + "needle" + "-".repeat(4 * chunkSize)
      const answer = found(`first\n${line}\nneedle`, "needle")
      const lines = [...new Set(answer.map((hit) => hit.line))]
      assert.deepStrictEqual(lines, [2, 3], String(at))
      assert.strictEqual(answer[0]!.column, at + 1)
    }
  })

  it.prop(
    "is found wherever it stands, however the file is cut into chunks",
    [Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 * chunkSize })))],
    ([lengths]) => {
      const lines = lengths.flatMap((length) => ["x".repeat(length), `${"y".repeat(length % 70)}needle`])
      const expected = lengths.map((length, at) => ({ line: 2 * at + 2, column: (length % 70) + 1 }))
      const answer = found(lines.join("\n"), "NEEDLE").map(({ column, line }) => ({ line, column }))
      assert.deepStrictEqual(answer, expected)
    }
  )
})
