import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import { chmod, symlink } from "node:fs/promises"
import * as Ignore from "../src/Ignore.ts"
import { largestFile, walk } from "../src/Walk.ts"
import { followed, index, names, temporary, tree, write } from "./tree.ts"

const walked = Effect.fnUntraced(function* (top: string, except = "/nowhere") {
  const found = yield* walk({ top, rules: yield* Ignore.outer(top), except })
  return found.map(({ dir, name }) => `${dir}/${name}`.slice(top.length + 1))
})

describe("a walk", () => {
  it.live("leaves out what git ignores, with the rules of every directory on the way", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        ".git/info/exclude": "private\n",
        ".git/config": "",
        ".gitignore": "\uFEFF# a comment\r\n*.log\r\n/dist/\nbuild/\n!keep.log\ntrailing \n\\#odd\n",
        "a.ts": "",
        "x.log": "",
        "keep.log": "",
        private: "",
        trailing: "",
        "#odd": "",
        "dist/a.ts": "",
        "build/a.ts": "",
        "sub/dist/a.ts": "",
        "sub/.gitignore": "/only\n!build/\n!y.log\n*.tmp\ndeep/x\n",
        "sub/only": "",
        "sub/y.log": "",
        "sub/build/a.ts": "",
        "sub/more/only": "",
        "sub/more/a.tmp": "",
        "sub/more/deep/x": "",
        "sub/deep/x": "",
        "sub/[w]/.gitignore": "z",
        "sub/[w]/z": "",
        "sub/w/z": ""
      })
      assert.deepStrictEqual(yield* walked(root), [
        ".gitignore",
        "a.ts",
        "keep.log",
        "sub/.gitignore",
        "sub/y.log",
        "sub/[w]/.gitignore",
        "sub/build/a.ts",
        "sub/dist/a.ts",
        "sub/more/only",
        "sub/more/deep/x",
        "sub/w/z"
      ])
    })
  )

  it.live("agrees with git", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        ".gitignore": "*.o\n!important.o\n/top\ndocs/**/api\n**/cache/\na?c\n[xyz].txt\nfoo/*\n!foo/bar\n",
        "lib/.gitignore": "*\n!.gitignore\n!*/\n!kept.ts\n",
        "a.o": "",
        "important.o": "",
        top: "",
        "lib/top": "",
        "lib/kept.ts": "",
        "lib/deep/kept.ts": "",
        "lib/deep/lost.ts": "",
        "docs/api": "",
        "docs/v1/v2/api/page": "",
        "deep/cache/x": "",
        cache: "",
        abc: "",
        abbc: "",
        "x.txt": "",
        "w.txt": "",
        "foo/a": "",
        "foo/bar/b": ""
      })
      execFileSync("git", ["init", "--quiet", root])
      const listed = execFileSync("git", ["-C", root, "ls-files", "--others", "--exclude-standard"], {
        encoding: "utf8",
        env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" }
      })
      assert.deepStrictEqual([...(yield* walked(root))].toSorted(), listed.trim().split("\n").toSorted())
    })
  )

  it.live("of a part of a repository heeds the rules above it, unless they exclude that very part", () =>
    Effect.gen(function* () {
      const repository = yield* tree({
        ".git/HEAD": "",
        ".gitignore": "*.log\nvendor\n",
        "packages/.gitignore": "generated\n",
        "packages/one/generated/a": "",
        "packages/one/x.log": "",
        "packages/one/x": "",
        "vendor/lib/x.log": ""
      })
      assert.deepStrictEqual(yield* walked(`${repository}/packages/one`), ["x"])
      assert.deepStrictEqual(yield* walked(`${repository}/vendor/lib`), ["x.log"])
    })
  )

  it.live("begins anew with the rules of a repository inside another", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        ".gitignore": "*.log",
        "inner/.git/info/exclude": "mine",
        "inner/x.log": "",
        "inner/mine": ""
      })
      assert.deepStrictEqual(yield* walked(root), [".gitignore", "inner/x.log"])
    })
  )

  it.live("follows no symbolic link, so it neither loops nor leaves the root", () =>
    Effect.gen(function* () {
      const outside = yield* tree({ "secret.txt": "needle" })
      const root = yield* tree({ "a/b.txt": "needle" })
      yield* Effect.promise(async () => {
        await symlink(root, `${root}/a/loop`)
        await symlink(outside, `${root}/out`)
        await symlink(`${outside}/secret.txt`, `${root}/out.txt`)
        await symlink(`${root}/missing`, `${root}/dangling`)
      })
      assert.deepStrictEqual(yield* walked(root), ["a/b.txt"])
    })
  )

  it.live("leaves out the directory it is told to, files that are too large, and what is no file", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        "state/index.db": "",
        exact: new Uint8Array(largestFile),
        large: new Uint8Array(largestFile + 1)
      })
      execFileSync("mkfifo", [`${root}/pipe`])
      assert.deepStrictEqual(yield* walked(root, `${root}/state`), ["exact"])
    })
  )
})

describe("indexing", () => {
  it.live("leaves out binary files, and goes on without what it may not read", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        "a.txt": "needle",
        "image.bin": new Uint8Array([...Buffer.from("needle"), 0, 1]),
        "late.txt": `${"x".repeat(9000)}\0needle`,
        "secret/a.txt": "needle",
        "secret.txt": "needle"
      })
      yield* Effect.promise(async () => {
        await chmod(`${root}/secret`, 0)
        await chmod(`${root}/secret.txt`, 0)
      })
      const self = yield* index()
      yield* followed(self, root)
      const unreadable = process.getuid?.() === 0 ? ["secret.txt", "secret/a.txt"] : []
      assert.deepStrictEqual(names(root, yield* self.search({ q: "needle" })), ["a.txt", "late.txt", ...unreadable])
      yield* Effect.promise(() => chmod(`${root}/secret`, 0o700))
    })
  )

  it.live("of the directory that contains the index itself comes to rest", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      yield* write(root, { "a.txt": "needle" })
      const self = yield* index({ directory: `${root}/state` })
      const { total } = yield* followed(self, root)
      assert.strictEqual(total, 1)
      assert.deepStrictEqual(names(root, yield* self.search({ q: "sqlite" })), [])
    })
  )
})
