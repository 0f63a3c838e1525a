/**
 * The lease in SQLite: one row, one transaction for each operation, rollback journal, nothing remembered between them.
 *
 * SQLite's own lock is a POSIX lock that any close in this process drops, so it guards a transaction and nothing else;
 * ownership is the process lock's.
 */
import type { DatabaseSync } from "node:sqlite"
import { inodeOf } from "../OwnerNote.ts"
import type { LeaseHolder, LeaseRow } from "./leaseDecision.ts"
import { quietly } from "./runtime.ts"

const fs = process.getBuiltinModule("node:fs")

export const schemaVersion = 1

/** How long an operation waits for another process's transaction; they take a few milliseconds. */
const busyMs = 250

export type LeaseCode = "busy" | "full" | "read-only" | "corrupt" | "newer-schema" | "denied" | "io"

/** `Replaced`: the database at the path is another one by now. `Unavailable`: it cannot be read or written now. */
export type Failure = { readonly _tag: "Replaced" } | { readonly _tag: "Unavailable"; readonly code: LeaseCode }

export class LeaseFailure extends Error {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(
      failure._tag === "Replaced"
        ? "the lease database was replaced"
        : `the lease database is unavailable: ${failure.code}`
    )
    this.failure = failure
  }
}

/** https://www.sqlite.org/rescode.html, primary codes. */
const codes: Readonly<Record<number, LeaseCode>> = {
  3: "denied",
  5: "busy",
  6: "busy",
  8: "read-only",
  10: "io",
  11: "corrupt",
  13: "full",
  14: "denied",
  23: "denied",
  26: "corrupt"
}
const SQLITE_READONLY_DBMOVED = 8 | (4 << 8)

export const failureOf = (error: unknown): LeaseFailure => {
  if (error instanceof LeaseFailure) return error
  const { code, errcode } = error as { readonly code?: string; readonly errcode?: number }
  if (errcode === SQLITE_READONLY_DBMOVED) return new LeaseFailure({ _tag: "Replaced" })
  if (errcode !== undefined) return new LeaseFailure({ _tag: "Unavailable", code: codes[errcode & 0xff] ?? "io" })
  const denied = code === "EACCES" || code === "EPERM" || code === "ENOENT" || code === "EISDIR"
  const full = code === "ENOSPC" || code === "EDQUOT"
  return new LeaseFailure({
    _tag: "Unavailable",
    code: denied ? "denied" : full ? "full" : code === "EROFS" ? "read-only" : "io"
  })
}

export interface LeaseDatabase {
  /** One transaction: what `decide` answers is written, `undefined` writes nothing. Answers what was read, too. */
  readonly transact: (decide: (row: LeaseRow | undefined) => LeaseRow | undefined) => LeaseRow | undefined
  readonly read: () => LeaseRow | undefined
  readonly close: () => void
}

interface Columns {
  readonly epoch: number
  readonly holder: string | null
}

const rowOf = (found: Columns | undefined): LeaseRow | undefined =>
  found === undefined
    ? undefined
    : { epoch: found.epoch, holder: found.holder === null ? null : (JSON.parse(found.holder) as LeaseHolder) }

/** Opens, or creates with mode 0600. Throws `LeaseFailure`. */
export const openLease = (path: string): LeaseDatabase => {
  const database = connect(path)
  const opened = inodeOf(path)
  const guarded = <A>(body: () => A): A => {
    if (inodeOf(path) !== opened) throw new LeaseFailure({ _tag: "Replaced" })
    try {
      return body()
    } catch (error) {
      throw failureOf(error)
    }
  }
  const select = database.prepare("SELECT epoch, holder FROM lease WHERE id = 1")
  const upsert = database.prepare(
    "INSERT INTO lease (id, epoch, holder) VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, holder = excluded.holder"
  )
  const read = () => rowOf(select.get() as Columns | undefined)
  return {
    read: () => guarded(read),
    transact: (decide) =>
      guarded(() =>
        inTransaction(database, () => {
          const row = read()
          const next = decide(row)
          if (next !== undefined) upsert.run(next.epoch, next.holder === null ? null : JSON.stringify(next.holder))
          return row
        })
      ),
    close: () => database.close()
  }
}

const connect = (path: string): DatabaseSync => {
  const sqlite = quietly("node:sqlite") as typeof import("node:sqlite")
  let database: DatabaseSync | undefined
  try {
    // SQLite would create it by the umask alone
    fs.closeSync(fs.openSync(path, "a", 0o600))
    database = new sqlite.DatabaseSync(path, { timeout: busyMs })
    const connected = database
    inTransaction(connected, () => {
      const { user_version: found } = connected.prepare("PRAGMA user_version").get() as {
        readonly user_version: number
      }
      if (found > schemaVersion) throw new LeaseFailure({ _tag: "Unavailable", code: "newer-schema" })
      if (found === schemaVersion) return
      connected.exec(
        `CREATE TABLE lease (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL, holder TEXT);
         PRAGMA user_version = ${schemaVersion}`
      )
    })
    return connected
  } catch (error) {
    database?.close()
    throw failureOf(error)
  }
}

const inTransaction = <A>(database: DatabaseSync, body: () => A): A => {
  database.exec("BEGIN IMMEDIATE")
  try {
    const value = body()
    database.exec("COMMIT")
    return value
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK") // a full disk has already ended it
    throw error
  }
}
