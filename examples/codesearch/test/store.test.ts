import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { readdir, readFile, stat, writeFile } from "node:fs/promises"
import { DatabaseSync } from "node:sqlite"
import * as Files from "../src/Files.ts"
import { make } from "../src/Index.ts"
import * as Search from "../src/Search.ts"
import * as Store from "../src/Store.ts"
import { eventually, finds, followed, index, names, temporary, tree, write } from "./tree.ts"

/** Runs with everything that is logged collected. */
const logged = <A, E, R>(effect: (lines: Array<string>) => Effect.Effect<A, E, R>) => {
  const lines: Array<string> = []
  return effect(lines).pipe(
    Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))]))
  )
}

describe("the index file", () => {
  it.live("is for the user alone", () =>
    Effect.gen(function* () {
      const directory = `${yield* temporary}/new/state`
      yield* Effect.flatMap(index({ directory }), (self) => Effect.flatMap(temporary, self.add))
      const others = yield* Effect.promise(async () => {
        const paths = [directory, ...(await readdir(directory)).map((name) => `${directory}/${name}`)]
        return Promise.all(paths.map(async (path) => [path, (await stat(path)).mode & 0o077]))
      })
      assert.deepStrictEqual(
        others.filter(([, mode]) => mode !== 0),
        []
      )
      assert.isAtLeast(others.length, 2)
    })
  )

  it.live("that is empty is filled", () =>
    Effect.gen(function* () {
      const directory = yield* tree({ "index.db": "" })
      const root = yield* tree({ "a.txt": "needle" })
      const self = yield* index({ directory })
      yield* followed(self, root)
      assert.deepStrictEqual(names(root, yield* self.search({ q: "needle" })), ["a.txt"])
    })
  )

  it.live.each([
    { what: "is no database", damage: (file: string) => writeFile(file, "garbage ".repeat(1000)), keeps: false },
    { what: "is of a later version", damage: sql("PRAGMA user_version = 99"), keeps: true },
    { what: "is of an earlier version", damage: sql("PRAGMA user_version = 0"), keeps: true },
    { what: "lacks a table", damage: sql("DROP TABLE chunks"), keeps: true }
  ])("that $what is built again, with a logged line", ({ damage, keeps }) =>
    logged((lines) =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const root = yield* tree({ "a.txt": "needle" })
        yield* Effect.scoped(Effect.flatMap(index({ directory }), (self) => followed(self, root)))
        yield* Effect.promise(() => damage(`${directory}/index.db`))
        const self = yield* index({ directory })
        assert.strictEqual((yield* self.roots).length, keeps ? 1 : 0)
        assert.strictEqual(lines.length, 1)
        assert.include(lines[0], "set aside and built again")
        yield* followed(self, root)
        assert.deepStrictEqual(names(root, yield* self.search({ q: "needle" })), ["a.txt"])
      })
    )
  )

  it.live("found damaged while in use fails that search only, and is built again at the next start", () =>
    logged((lines) =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const root = yield* tree({ "a.txt": "needle" })
        yield* Effect.scoped(
          Effect.gen(function* () {
            const store = yield* Store.open({ directory })
            const damage = Object.assign(new Error("database disk image is malformed"), { errcode: 11 })
            const error = yield* Effect.flip(
              store.read(() => {
                throw damage
              })
            )
            assert.include(error.action, "Restart the service")
            yield* store.write(() => Files.make(store).addRoot(root))
          })
        )
        const self = yield* index({ directory })
        assert.include(lines[0], "was found damaged")
        assert.deepStrictEqual(names(root, yield* self.search({ q: "needle" })), ["a.txt"])
      })
    )
  )

  it.live("that cannot be made is one error with a message and an action", () =>
    Effect.gen(function* () {
      const parent = yield* tree({ file: "", "state/index.db/x": "" })
      for (const directory of [`${parent}/file`, `${parent}/file/below`, `${parent}/state`]) {
        const error = yield* Effect.flip(make({ directory, progress: () => Effect.void }))
        assert.strictEqual(error._tag, "IndexUnavailable")
        assert.include(error.message, directory)
        assert.notInclude(error.message, "\n")
        assert.isNotEmpty(error.action)
      }
      assert.strictEqual(yield* Effect.promise(() => readFile(`${parent}/file`, "utf8")), "")
    })
  )

  it.live("is written by the one writer only: when that refuses, nothing changes", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const root = yield* tree({ "a.txt": "needle" })
      const version = () => {
        const database = new DatabaseSync(`${directory}/index.db`)
        const rows = ["roots", "files", "chunks"].map((table) =>
          database.prepare(`SELECT count(*) AS n FROM ${table}`).get()
        )
        database.close()
        return JSON.stringify(rows)
      }
      let refuse = false
      const self = yield* index({
        directory,
        pollEvery: "50 millis",
        writer: (database) =>
          Effect.succeed((body) =>
            Effect.suspend(() =>
              refuse
                ? Effect.fail(new Store.IndexUnavailable({ message: "stale epoch", action: "" }))
                : Store.transaction(database)(body)
            )
          )
      })
      yield* followed(self, root)
      const before = version()
      refuse = true
      yield* write(root, { "b.txt": "needle" })
      const [failed] = yield* eventually(self.roots, ([entry]) => entry?.state === "failed")
      assert.include(failed?.message, "stale epoch")
      assert.include((yield* Effect.flip(self.add(yield* tree({ "a.txt": "" })))).message, "stale epoch")
      assert.strictEqual((yield* Effect.flip(self.remove(root)))._tag, "IndexFailed")
      assert.strictEqual(version(), before)
      refuse = false
      yield* finds(self, root, "needle", ["a.txt", "b.txt"])
    })
  )

  it.live("answers the same without a trigram index", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.txt": "some needle\nhere", "b/c.txt": "Needles", "d.txt": "nothing" })
      const directory = yield* temporary
      yield* Effect.scoped(Effect.flatMap(index({ directory }), (self) => followed(self, root)))
      const store = yield* Store.open({ directory })
      const answer = (trigrams: boolean) =>
        Search.search({ store, files: Files.make({ ...store, trigrams }) }, { q: "needle", tops: [root], limit: 9 })
      assert.deepStrictEqual(yield* answer(false), yield* answer(true))
      assert.strictEqual((yield* answer(false)).length, 2)
    })
  )
})

function sql(statement: string) {
  return async (file: string) => {
    const database = new DatabaseSync(file)
    database.exec(statement)
    database.close()
  }
}
