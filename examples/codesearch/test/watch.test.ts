import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { watch } from "node:fs"
import { mkdir, rename, rm, unlink, utimes } from "node:fs/promises"
import { plan } from "../src/Refresh.ts"
import type { Open } from "../src/Watch.ts"
import { eventually, finds, followed, index, tree, write } from "./tree.ts"

const does = (action: () => Promise<unknown>) => Effect.promise(action)

describe.each([{ recursive: false }, { recursive: true }])(
  "a followed root (recursive watch: $recursive)",
  (options) => {
    it.live("finds a saved file within a second, however the editor saves it", () =>
      Effect.gen(function* () {
        const root = yield* tree({ "src/a.txt": "before" })
        const self = yield* index(options)
        yield* followed(self, root)
        yield* write(root, { "src/a.txt": "in place" })
        yield* finds(self, root, "in place", ["src/a.txt"], 1000)
        yield* write(root, { "src/.a.txt.swp": "renamed over" })
        yield* does(() => rename(`${root}/src/.a.txt.swp`, `${root}/src/a.txt`))
        yield* finds(self, root, "renamed over", ["src/a.txt"], 1000)
        yield* finds(self, root, "in place", [])
        yield* write(root, { "src/new.txt": "new file" })
        yield* finds(self, root, "new file", ["src/new.txt"], 1000)
      })
    )

    it.live("sees a change that keeps the size and the time of the file", () =>
      Effect.gen(function* () {
        const root = yield* tree({ "a.txt": "one" })
        const then = new Date(1_700_000_000_000)
        yield* does(() => utimes(`${root}/a.txt`, then, then))
        const self = yield* index(options)
        yield* followed(self, root)
        yield* write(root, { "a.txt": "two" })
        yield* does(() => utimes(`${root}/a.txt`, then, then))
        yield* finds(self, root, "two", ["a.txt"])
      })
    )

    it.live("follows directories that are made, filled, moved, made again and removed", () =>
      Effect.gen(function* () {
        const root = yield* tree({ "a.txt": "other" })
        const self = yield* index(options)
        yield* followed(self, root)
        yield* write(root, { "one/two/a.txt": "needle" })
        yield* finds(self, root, "needle", ["one/two/a.txt"])
        yield* write(root, { "one/two/b.txt": "needle" })
        yield* finds(self, root, "needle", ["one/two/a.txt", "one/two/b.txt"])
        yield* does(() => rename(`${root}/one`, `${root}/moved`))
        yield* finds(self, root, "needle", ["moved/two/a.txt", "moved/two/b.txt"])
        yield* write(root, { "moved/two/c.txt": "needle" })
        yield* finds(self, root, "needle", ["moved/two/a.txt", "moved/two/b.txt", "moved/two/c.txt"])
        yield* does(() => rm(`${root}/moved`, { recursive: true }))
        yield* write(root, { "moved/two/d.txt": "needle" })
        yield* finds(self, root, "needle", ["moved/two/d.txt"])
        yield* write(root, { "moved/two/e.txt": "needle" })
        yield* finds(self, root, "needle", ["moved/two/d.txt", "moved/two/e.txt"])
        yield* does(() => rm(`${root}/moved`, { recursive: true }))
        yield* write(root, { moved: "needle" })
        yield* finds(self, root, "needle", ["moved"])
        yield* does(() => unlink(`${root}/moved`))
        yield* finds(self, root, "needle", [])
      })
    )

    it.live("finds very many files that are written at once, and forgets them when they are removed", () =>
      Effect.gen(function* () {
        const root = yield* tree({ "a.txt": "needle" })
        const self = yield* index(options)
        yield* followed(self, root)
        const many = Array.from({ length: 1500 }, (_, at) => [`many/${at % 7}/${at}.txt`, "needle"] as const)
        const count = Effect.map(self.search({ q: "needle", limit: 1000 }), (hits) => hits.length)
        yield* write(root, Object.fromEntries(many))
        yield* eventually(self.roots, ([entry]) => entry?.indexed === 1501)
        yield* eventually(count, (found) => found === 1000)
        yield* does(() => rm(`${root}/many`, { recursive: true }))
        yield* finds(self, root, "needle", ["a.txt"])
      })
    )

    it.live("heeds a changed .gitignore", () =>
      Effect.gen(function* () {
        const root = yield* tree({ "a.gen": "needle", "sub/a.gen": "needle", "sub/a.txt": "needle" })
        const self = yield* index(options)
        yield* followed(self, root)
        yield* write(root, { "sub/.gitignore": "*.gen" })
        yield* finds(self, root, "needle", ["a.gen", "sub/a.txt"])
        yield* write(root, { ".gitignore": "*.gen" })
        yield* finds(self, root, "needle", ["sub/a.txt"])
        yield* write(root, { "sub/b.gen": "needle", "sub/b.txt": "needle" })
        yield* finds(self, root, "needle", ["sub/a.txt", "sub/b.txt"])
        yield* does(() => Promise.all([unlink(`${root}/.gitignore`), unlink(`${root}/sub/.gitignore`)]))
        yield* finds(self, root, "needle", ["a.gen", "sub/a.gen", "sub/a.txt", "sub/b.gen", "sub/b.txt"])
      })
    )

    it.live("that disappears is kept and marked, not searched, and taken up again when it returns", () =>
      Effect.gen(function* () {
        const root = yield* tree({ "sub/a.txt": "needle" })
        const self = yield* index(options)
        yield* followed(self, root)
        yield* does(() => rename(root, `${root}-away`))
        const [gone] = yield* eventually(self.roots, ([entry]) => entry?.state === "failed")
        assert.include(gone?.message, "not there any more")
        assert.deepStrictEqual(yield* self.search({ q: "needle" }), [])
        yield* does(() => rename(`${root}-away`, root))
        yield* finds(self, root, "needle", ["sub/a.txt"])
        yield* eventually(self.roots, ([entry]) => entry?.state === "watching" && entry.message === undefined)
        yield* write(root, { "sub/b.txt": "needle" })
        yield* finds(self, root, "needle", ["sub/a.txt", "sub/b.txt"])
      })
    )
  }
)

describe("a root that cannot be watched", () => {
  const failing = (code: string, from: number): Open => {
    let count = 0
    return (directory, options, listener) => {
      count += 1
      if (count >= from) throw Object.assign(new Error(code), { code })
      return watch(directory, options, listener)
    }
  }

  it.live.each([
    { code: "ENOSPC", from: 1 },
    { code: "EMFILE", from: 2 }
  ])("is looked at again and again, and says so ($code)", ({ code, from }) =>
    Effect.gen(function* () {
      const root = yield* tree({ "sub/a.txt": "needle" })
      const self = yield* index({ open: failing(code, from), recursive: false, pollEvery: "100 millis" })
      yield* followed(self, root)
      const [marked] = yield* eventually(self.roots, ([entry]) => entry?.message !== undefined)
      assert.strictEqual(marked?.state, "watching")
      assert.include(marked?.message, "found more slowly")
      yield* write(root, { "sub/b.txt": "needle" })
      yield* finds(self, root, "needle", ["sub/a.txt", "sub/b.txt"])
    })
  )

  it.live("is read anyway once in a while when its watch says nothing", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.txt": "needle" })
      const silent: Open = (directory, options) => watch(directory, options, () => {})
      const self = yield* index({ open: silent, rescanEvery: "100 millis" })
      yield* followed(self, root)
      yield* does(() => mkdir(`${root}/sub`))
      yield* write(root, { "sub/b.txt": "needle" })
      yield* finds(self, root, "needle", ["a.txt", "sub/b.txt"])
    })
  )
})

describe("what a change asks for", () => {
  it("is the changed paths, in order, those of others left out", () => {
    assert.deepStrictEqual(plan("/r", new Set(["/r/b", "/r/a", "/else", "/r-b"])), ["/r/a", "/r/b"])
  })
  it("is the whole directory of a changed .gitignore", () => {
    assert.deepStrictEqual(plan("/r", new Set(["/r/sub/.gitignore"])), ["/r/sub"])
  })
  it("is everything when the root itself or very much has changed", () => {
    assert.strictEqual(plan("/r", new Set(["/r"])), "everything")
    assert.strictEqual(plan("/r", new Set(["/r/.gitignore"])), "everything")
    assert.strictEqual(plan("/r", new Set(Array.from({ length: 1001 }, (_, at) => `/r/${at}`))), "everything")
  })
})
