import { assert, describe, it } from "@effect/vitest"
import * as os from "node:os"
import { problem } from "../src/Problem.ts"

const oneLine = (text: string) => assert.notMatch(text, /[\r\n\u2028]|\bat .*:\d+:\d+|undefined|\[object/)

describe("a system error as a sentence", () => {
  it.each(Object.keys(os.constants.errno))("%s is one line that names the path, and a thing to do", (code) => {
    const error = Object.assign(new Error(`${code}: raw words, open '/p'`), { code })
    const found = problem("read the record", "/p/service.json", error)
    assert.strictEqual(found.code, code)
    assert.strictEqual(found.path, "/p/service.json")
    assert.match(found.message, /^Cannot read the record \/p\/service\.json: .+\.$/)
    assert.match(found.action, /^[A-Z].+\.$/)
    for (const text of [found.message, found.action]) oneLine(text)
    assert.notInclude(found.message, "raw words")
  })

  it.each<[string, unknown]>([
    ["an error without a code", new RangeError("Maximum call stack size exceeded")],
    ["a plain object with a code", { code: "EIO" }],
    ["a text", "no"],
    ["undefined", undefined],
    ["null", null],
    ["an error whose code is a number", Object.assign(new Error("x"), { code: 5 })]
  ])("%s is one line, too", (_, error) => {
    const found = problem("read the record", "/p", error)
    assert.match(found.message, /^Cannot read the record \/p: .+\.$/)
    for (const text of [found.code, found.message, found.action]) {
      assert.typeOf(text, "string")
      oneLine(text)
    }
  })

  it("a line break in a path stays on the line", () => {
    oneLine(problem("read the record", "/a\nb", { code: "EIO" }).message)
  })

  it("permission denied, a full disk and a read-only file system are told apart", () => {
    const reasons = ["EACCES", "ENOSPC", "EROFS", "ENOENT", "ENOTDIR", "EMFILE", "EIO"].map(
      (code) => problem("x", "/p", { code }).message
    )
    assert.strictEqual(new Set(reasons).size, reasons.length)
  })
})
