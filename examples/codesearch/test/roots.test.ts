import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { HttpServer } from "effect/http"
import { HttpApiTest } from "effect/http-api"
import { symlink } from "node:fs/promises"
import { Api, type RootsEvent } from "../src/api.ts"
import { Handlers } from "../src/handlers.ts"
import { Index } from "../src/Index.ts"
import { place, scope, sentence } from "../src/Roots.ts"
import { eventually, finds, followed, index, names, stateOf, temporary, tree } from "./tree.ts"

describe("naming a root", () => {
  it.live("answers at once, before anything is read", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.txt": "needle" })
      const self = yield* index()
      assert.deepStrictEqual(yield* self.add(root), { path: root, indexed: 0, total: 0, state: "scanning" })
      yield* finds(self, root, "needle", ["a.txt"])
    })
  )

  it.live("that is known, or lies in a known one, answers the known one", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "sub/a.txt": "needle" })
      const link = `${yield* temporary}/link`
      yield* Effect.promise(() => symlink(root, link))
      const self = yield* index()
      const known = yield* followed(self, root)
      for (const path of [root, `${root}/`, `${root}/sub`, `${root}/sub/../sub`, link]) {
        assert.deepStrictEqual(yield* self.add(path), known)
      }
      assert.deepStrictEqual(yield* self.roots, [known])
    })
  )

  it.live("above known ones takes their place, and reads nothing twice", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a/x.txt": "needle", "b/x.txt": "needle", "x.txt": "needle" })
      const self = yield* index()
      yield* followed(self, `${root}/a`)
      yield* followed(self, `${root}/b`)
      yield* followed(self, root)
      assert.deepStrictEqual(
        (yield* self.roots).map(({ path }) => path),
        [root]
      )
      assert.deepStrictEqual(names(root, yield* self.search({ q: "needle" })), ["x.txt", "a/x.txt", "b/x.txt"])
    })
  )

  it.live("many times at once does the work once", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.txt": "needle" })
      const self = yield* index()
      const events: Array<RootsEvent> = []
      yield* self.changes.pipe(
        Stream.runForEach((event) => Effect.sync(() => events.push(event))),
        Effect.forkScoped
      )
      yield* eventually(
        Effect.sync(() => events.length),
        (count) => count === 1
      )
      const answers = yield* Effect.forEach(Array(10).fill(root), self.add, { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(answers.map(({ path }) => path)), new Set([root]))
      yield* eventually(
        Effect.sync(() => events.at(-1)),
        (event) => event?.type === "changed" && event.root.state === "watching"
      )
      const scans = events.filter((event) => event.type === "changed" && event.root.state === "indexing")
      assert.strictEqual(scans.length, 1)
    })
  )

  it.live("that cannot be one is refused with a message and an action", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const root = yield* tree({ "a.txt": "" })
      const self = yield* index({ directory })
      for (const path of ["relative", `${root}/missing`, `${root}/a.txt`, "/", directory, `${root}/a.txt/below`]) {
        const error = yield* Effect.flip(self.add(path))
        assert.strictEqual(error._tag, "RootRefused", path)
        assert.include(error.message, path)
        assert.isNotEmpty(error.action)
      }
      assert.deepStrictEqual(yield* self.roots, [])
    })
  )
})

describe("removing a root", () => {
  it.live("ends the search in it; naming it again finds everything again", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.txt": "needle" })
      const self = yield* index()
      yield* followed(self, root)
      yield* self.remove(root)
      assert.deepStrictEqual(yield* self.roots, [])
      assert.deepStrictEqual(yield* self.search({ q: "needle" }), [])
      yield* self.add(root)
      yield* finds(self, root, "needle", ["a.txt"])
    })
  )

  it.live("that is none is refused", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "sub/a.txt": "needle" })
      const self = yield* index()
      yield* followed(self, root)
      assert.strictEqual((yield* Effect.flip(self.remove(`${root}/sub`)))._tag, "RootUnknown")
      assert.strictEqual((yield* self.roots).length, 1)
    })
  )
})

describe("over HTTP", () => {
  const client = Effect.gen(function* () {
    const directory = yield* temporary
    const services = Handlers.pipe(
      Layer.provide(Index.layerWith({ directory, progress: () => Effect.void })),
      Layer.provideMerge(HttpServer.layerServices)
    )
    return yield* Effect.provideContext(HttpApiTest.groups(Api, ["index"]), yield* Layer.build(services))
  })

  it.live("a root is named, searched, listed and removed", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.txt": "one needle" })
      const { add, remove, roots, search } = yield* client
      assert.strictEqual((yield* add({ payload: { path: root } })).path, root)
      yield* eventually(roots(), (all) => stateOf(all, root) === "watching")
      assert.deepStrictEqual(yield* search({ query: { q: "needle", dir: root, limit: 5 } }), [
        { file: `${root}/a.txt`, line: 1, column: 5, text: "one needle", matches: [{ start: 4, end: 10 }] }
      ])
      assert.strictEqual((yield* remove({ payload: { path: root } })).path, root)
      assert.strictEqual((yield* Effect.flip(remove({ payload: { path: root } })))._tag, "RootUnknown")
      assert.strictEqual((yield* Effect.flip(add({ payload: { path: `${root}/none` } })))._tag, "RootRefused")
    })
  )

  it.live("the events begin with the present roots, even with none, and go on with each change", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.txt": "" })
      const { add, changes, remove } = yield* client
      const events: Array<RootsEvent> = []
      const stream = yield* changes()
      yield* stream.pipe(
        Stream.runForEach((event) => Effect.sync(() => events.push(event))),
        Effect.forkScoped
      )
      yield* eventually(
        Effect.sync(() => [...events]),
        ([first]) => first?.type === "current" && first.roots.length === 0
      )
      yield* add({ payload: { path: root } })
      yield* eventually(
        Effect.sync(() => events.at(-1)),
        (event) => event?.type === "changed" && event.root.state === "watching"
      )
      yield* remove({ payload: { path: root } })
      yield* eventually(
        Effect.sync(() => events.at(-1)),
        (event) => event?.type === "removed" && event.path === root
      )
    })
  )
})

describe("a decision about roots", () => {
  it("places a directory under the root that covers it, or over those it covers", () => {
    assert.deepStrictEqual(place(["/a"], "/a/b"), { _tag: "Covered", by: "/a" })
    assert.deepStrictEqual(place(["/a/b", "/a/c", "/a-b"], "/a"), { _tag: "New", replaces: ["/a/b", "/a/c"] })
  })

  it("searches the roots that are there, or the part of them inside a directory", () => {
    const entry = (path: string, gone = false) => ({
      root: { path, indexed: 0, total: 0, state: "watching" as const },
      gone
    })
    const entries = [entry("/a"), entry("/b/c"), entry("/b/d", true)]
    assert.deepStrictEqual(scope(entries, undefined), ["/a", "/b/c"])
    assert.deepStrictEqual(scope(entries, "/a/x"), ["/a/x"])
    assert.deepStrictEqual(scope(entries, "/b"), ["/b/c"])
    assert.deepStrictEqual(scope(entries, "/b/d/x"), [])
  })

  it("says in words what a person waits for, and nothing when it is done", () => {
    const root = { path: "/home/me/holdfast", indexed: 1234, total: 5000 }
    assert.strictEqual(sentence({ ...root, state: "indexing" }), "Reading 1,234 of 5,000 files in holdfast…")
    assert.strictEqual(sentence({ ...root, state: "scanning" }), "Looking through holdfast…")
    assert.strictEqual(sentence({ ...root, state: "watching" }), undefined)
  })
})
