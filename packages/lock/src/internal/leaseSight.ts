/** The lease as anybody may read it: nothing is created, changed, repaired or waited for. */
import type { DatabaseSync } from "node:sqlite"
import { failureOf, type LeaseCode, schemaVersion } from "./leaseDatabase.ts"
import type { LeaseHolder } from "./leaseDecision.ts"
import { leaseWords } from "./leaseWords.ts"
import { quietly } from "./runtime.ts"

const fs = process.getBuiltinModule("node:fs")

/**
 * Who claimed the lease last, without what proves it.
 *
 * @category models
 * @since 0.1.0
 */
export type RecordedHolder = Omit<LeaseHolder, "tokenHash">

/**
 * What the lease says. `holder: null`: released, or never claimed.
 *
 * @category models
 * @since 0.1.0
 */
export type LeaseSight =
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Row"; readonly epoch: number; readonly holder: RecordedHolder | null }
  | { readonly _tag: "Unusable"; readonly code: LeaseCode; readonly message: string; readonly action: string }

/** Of a database in rollback-journal mode; opening another kind for reading would create files beside it. */
const isOurs = (head: Buffer): boolean =>
  head.toString("latin1", 0, 16) === "SQLite format 3\0" && head[18] === 1 && head[19] === 1

/** The head of the file; throws the system's error, or one for something that is no file. */
const readHead = (path: string): Buffer => {
  const descriptor = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0))
  try {
    if (!fs.fstatSync(descriptor).isFile()) throw Object.assign(new Error("not a file"), { code: "EISDIR" })
    const head = Buffer.alloc(100)
    return head.subarray(0, fs.readSync(descriptor, head, 0, head.length, 0))
  } finally {
    fs.closeSync(descriptor)
  }
}

const text = (value: unknown): value is string => typeof value === "string"

const holderOf = (json: unknown): RecordedHolder | undefined => {
  const found: unknown = text(json) ? JSON.parse(json) : undefined
  if (typeof found !== "object" || found === null) return undefined
  const { expiresAt, heartbeatAt, host, instanceID, lockInode, pid, startIdentity } = found as LeaseHolder
  const whole =
    text(instanceID) &&
    text(startIdentity) &&
    text(host) &&
    Number.isInteger(pid) &&
    (lockInode === null || text(lockInode))
  return whole && Number.isFinite(heartbeatAt) && Number.isFinite(expiresAt)
    ? { instanceID, pid, startIdentity, host, lockInode, heartbeatAt, expiresAt }
    : undefined
}

const rowIn = (database: DatabaseSync): LeaseSight | LeaseCode => {
  const { user_version: version } = database.prepare("PRAGMA user_version").get() as { readonly user_version: number }
  if (version > schemaVersion) return "newer-schema"
  const found = database.prepare("SELECT epoch, holder FROM lease WHERE id = 1").get()
  if (found === undefined) return { _tag: "Row", epoch: 0, holder: null }
  const { epoch, holder } = found
  if (!Number.isInteger(epoch)) return "corrupt"
  if (holder === null) return { _tag: "Row", epoch: epoch as number, holder }
  const recorded = holderOf(holder)
  return recorded === undefined ? "corrupt" : { _tag: "Row", epoch: epoch as number, holder: recorded }
}

const codeOf = (error: unknown): LeaseCode => {
  if (error instanceof SyntaxError) return "corrupt"
  const { failure } = failureOf(error)
  // an interrupted change is undone by the next writer, which a reader is not
  return failure._tag === "Replaced" || failure.code === "read-only" ? "busy" : failure.code
}

/** Not as long as an owner waits: who asks wants to hear that it is locked. */
const busyMs = 100

/**
 * Reads the lease at `path`. Never throws.
 *
 * **Details** No file is created or written beside it either. Not for a process that owns a lease itself: closing the
 * file drops the POSIX lock of a transaction that is open elsewhere in the same process.
 *
 * **When to use** For people and diagnostics, beside an owner that may be using it.
 *
 * **Example**
 *
 * ```ts
 * import { inspect } from "@holdfast/lock/lease"
 * import { paths } from "@holdfast/lock/ServicePaths"
 *
 * export const epochNow = (): number | undefined => {
 *   const seen = inspect(paths({ app: "hello" }).lease)
 *   return seen._tag === "Row" ? seen.epoch : undefined
 * }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const inspect = (path: string): LeaseSight => {
  const unusable = (code: LeaseCode): LeaseSight => ({ _tag: "Unusable", code, ...leaseWords(path, code) })
  let database: DatabaseSync | undefined
  try {
    const head = readHead(path)
    if (head.length === 0) return { _tag: "Row", epoch: 0, holder: null }
    if (!isOurs(head)) return unusable("corrupt")
    const sqlite = quietly("node:sqlite") as typeof import("node:sqlite")
    database = new sqlite.DatabaseSync(path, { readOnly: true, timeout: busyMs })
    const found = rowIn(database)
    return typeof found === "string" ? unusable(found) : found
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? { _tag: "Absent" } : unusable(codeOf(error))
  } finally {
    database?.close()
  }
}
