import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as identity from "../src/identity.ts"
import { claim } from "../src/internal/lease.ts"
import { openLease } from "../src/internal/leaseDatabase.ts"
import { inspect } from "../src/lease.ts"
import { hands, runtimes, temporary } from "./support.ts"

const now = 1_000_000

/** A lease that this process claimed. */
const claimed = (directory: string): string => {
  const file = path.join(directory, "lease.db")
  const store = openLease(file)
  claim(store, { instanceID: "one", identity: identity.own(), lockInode: "1:2" }, { now, leaseMs: 30_000 })
  store.close()
  return file
}

const change = (file: string, sql: string): void => {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

/** Everything in the directory: names, bytes, modes, times. */
const snapshot = (directory: string): ReadonlyArray<unknown> =>
  fs.readdirSync(directory).map((name) => {
    const file = path.join(directory, name)
    const { ino, mode, mtimeNs } = fs.lstatSync(file, { bigint: true })
    return [name, mode, ino, mtimeNs, fs.lstatSync(file).isFile() ? fs.readFileSync(file, "latin1") : ""]
  })

const codeOf = (file: string) => {
  const sight = inspect(file)
  return sight._tag === "Unusable" ? sight.code : sight._tag
}

interface Case {
  readonly what: string
  readonly prepare: (file: string) => void
  readonly code: string
}

const cases: ReadonlyArray<Case> = [
  { what: "not there", prepare: (file) => fs.rmSync(file), code: "Absent" },
  { what: "empty", prepare: (file) => fs.writeFileSync(file, ""), code: "Row" },
  { what: "text", prepare: (file) => fs.writeFileSync(file, "not a database at all"), code: "corrupt" },
  {
    what: "cut in the middle",
    prepare: (file) => fs.truncateSync(file, 2000),
    code: "corrupt"
  },
  {
    what: "of a newer version",
    prepare: (file) => change(file, "PRAGMA user_version = 99; ALTER TABLE lease ADD COLUMN more"),
    code: "newer-schema"
  },
  { what: "without its table", prepare: (file) => change(file, "DROP TABLE lease"), code: "io" },
  {
    what: "with a holder that is no record",
    prepare: (file) => change(file, `UPDATE lease SET holder = '{"pid":"many"}'`),
    code: "corrupt"
  },
  {
    what: "with a holder that is no JSON",
    prepare: (file) => change(file, "UPDATE lease SET holder = '{'"),
    code: "corrupt"
  },
  // opened for reading, this would create two files beside it
  { what: "in write-ahead mode", prepare: (file) => change(file, "PRAGMA journal_mode = WAL"), code: "corrupt" },
  { what: "a directory", prepare: (file) => (fs.rmSync(file), fs.mkdirSync(file)), code: "denied" }
]

describe("looking at a lease", () => {
  it.live("says the epoch and who claimed it, and nothing that proves it, in every runtime", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const file = claimed(directory)
      const { host, pid, startIdentity } = identity.own()
      const holder = { instanceID: "one", pid, startIdentity, host, lockInode: "1:2" }
      const expected = { _tag: "Row", epoch: 1, holder: { ...holder, heartbeatAt: now, expiresAt: now + 30_000 } }
      for (const runtime of runtimes.filter(({ installed }) => installed)) {
        const other = yield* hands({ runtime })
        assert.deepStrictEqual(yield* other.call("lease", "inspect", file), expected, runtime.name)
      }
    })
  )

  for (const { code, prepare, what } of cases) {
    it.live(`that is ${what}: ${code}; nothing in the directory changes`, () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const file = claimed(directory)
        prepare(file)
        const before = snapshot(directory)
        assert.strictEqual(codeOf(file), code)
        assert.deepStrictEqual(snapshot(directory), before)
      })
    )
  }

  it.live("that another process keeps locked is said to be, soon", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const file = claimed(directory)
      const other = new DatabaseSync(file)
      other.exec("BEGIN EXCLUSIVE")
      const started = performance.now()
      assert.strictEqual(codeOf(file), "busy")
      assert.isBelow(performance.now() - started, 1000)
      other.exec("ROLLBACK")
      other.close()
      assert.strictEqual(codeOf(file), "Row")
    })
  )

  it.live("whose last change was interrupted leaves undoing it to the next owner", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const [file, copy] = [claimed(directory), path.join(directory, "copy.db")]
      const writer = new DatabaseSync(file)
      // what a writer leaves that is killed here: pages in the file, and their old contents in the journal
      writer.exec("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN EXCLUSIVE; CREATE TABLE filler (x)")
      writer.exec(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO filler SELECT randomblob(500) FROM n"
      )
      fs.copyFileSync(file, copy)
      fs.copyFileSync(`${file}-journal`, `${copy}-journal`)
      writer.exec("ROLLBACK")
      writer.close()
      const before = snapshot(directory)
      assert.strictEqual(codeOf(copy), "busy")
      assert.deepStrictEqual(snapshot(directory), before)
      openLease(copy).close()
      assert.strictEqual(codeOf(copy), "Row")
    })
  )
})
