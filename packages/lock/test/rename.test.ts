import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as files from "../src/files.ts"
import { hands, has, temporary } from "./support.ts"

const place = Effect.map(temporary, (directory) => ({ directory, file: path.join(directory, "service.json") }))

describe("a rename that is refused for a moment", () => {
  /** Refuses the first `times` renames of a process, as a scanner that holds the file does. */
  const refusing = (directory: string, times: number, errno: string): Readonly<Record<string, string>> => {
    const [source, library] = [path.join(directory, "held.c"), path.join(directory, "held.so")]
    fs.writeFileSync(
      source,
      [
        "#define _GNU_SOURCE",
        "#include <dlfcn.h>\n#include <errno.h>",
        "static int refused = 0;",
        "int rename(const char *from, const char *to) {",
        `  if (refused++ < ${times}) { errno = ${errno}; return -1; }`,
        '  return ((int (*)(const char *, const char *)) dlsym(RTLD_NEXT, "rename"))(from, to); }'
      ].join("\n")
    )
    childProcess.execFileSync("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"])
    return { LD_PRELOAD: library }
  }

  for (const [times, errno] of [
    [1, "EPERM"],
    [3, "EACCES"],
    [9, "EBUSY"]
  ] as const) {
    it.live.skipIf(!has("cc"))(`${times} times, with ${errno}, is not noticed (needs cc)`, () =>
      Effect.gen(function* () {
        const { directory, file } = yield* place
        fs.writeFileSync(file, "old")
        const one = yield* hands({ env: refusing(yield* temporary, times, errno) })
        assert.isUndefined((yield* one.call("files", "replace", file, "new"))?.error)
        assert.deepInclude(files.read(file), { _tag: "Text", text: "new" })
        assert.deepStrictEqual(fs.readdirSync(directory), ["service.json"])
      })
    )
  }

  for (const [errno, tries] of [
    ["EPERM", 10],
    ["EACCES", 10],
    ["EBUSY", 10],
    ["EXDEV", 1],
    ["ENOSPC", 1]
  ] as const) {
    it.live.skipIf(!has("cc"))(
      `50 times, with ${errno}, is the system's error after ${tries} of them; the old record stays, alone (needs cc)`,
      () =>
        Effect.gen(function* () {
          const { directory, file } = yield* place
          fs.writeFileSync(file, "old")
          const one = yield* hands({ env: refusing(yield* temporary, 50, errno) })
          let failures = 0
          while (failures <= 50) {
            const { error } = (yield* one.call("files", "replace", file, "new")) ?? {}
            if (error === undefined) break
            failures++
            assert.strictEqual(error.code, errno)
            assert.deepInclude(files.read(file), { _tag: "Text", text: "old" })
            assert.deepStrictEqual(fs.readdirSync(directory), ["service.json"])
          }
          assert.strictEqual(failures, 50 / tries)
        })
    )
  }
})
