/**
 * Small files that are never half-written: a record is written beside its place and renamed over it.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import { step } from "./step.ts"

const fs = process.getBuiltinModule("node:fs")

/**
 * A file's text, or why there is none. Permission denied is never "absent".
 *
 * @category models
 * @since 0.1.0
 */
export type Reading =
  | { readonly _tag: "Text"; readonly text: string; readonly mode: number; readonly uid: number }
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Unreadable"; readonly code: string }

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "UNKNOWN"

/** Records are a few hundred bytes; a larger file is somebody else's and is not read into memory. */
const largest = 64 * 1024

/**
 * Reads a small record.
 *
 * **Details** A directory, a device or a file above `limit` (64 KiB) at that path is `Unreadable`.
 *
 * **When to use** For every record of a service: it does not wait for a FIFO, and reads no large file.
 *
 * **Example**
 *
 * ```ts
 * import * as files from "@holdfast/lock/files"
 *
 * export const settings = (file: string): unknown => {
 *   const reading = files.read(file)
 *   switch (reading._tag) {
 *     case "Text":
 *       return JSON.parse(reading.text)
 *     case "Absent":
 *       return {}
 *     case "Unreadable":
 *       throw new Error(`${file} cannot be read: ${reading.code}`)
 *   }
 * }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const read = (path: string, limit: number = largest): Reading => {
  let descriptor: number
  try {
    // O_NONBLOCK: a FIFO put at the path must not block us for ever
    descriptor = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0))
  } catch (error) {
    return codeOf(error) === "ENOENT" ? { _tag: "Absent" } : { _tag: "Unreadable", code: codeOf(error) }
  }
  try {
    const stat = fs.fstatSync(descriptor)
    if (!stat.isFile()) return { _tag: "Unreadable", code: stat.isDirectory() ? "EISDIR" : "EINVAL" }
    if (stat.size > limit) return { _tag: "Unreadable", code: "EFBIG" }
    return { _tag: "Text", text: fs.readFileSync(descriptor, "utf8"), mode: stat.mode & 0o777, uid: stat.uid }
  } catch (error) {
    return { _tag: "Unreadable", code: codeOf(error) }
  } finally {
    fs.closeSync(descriptor)
  }
}

const temporaryOf = (path: string): string => `${path}.${process.pid}.${Math.random().toString(36).slice(2, 10)}.tmp`

const viaTemporary = (path: string, text: string, place: (temporary: string) => void): void => {
  const temporary = temporaryOf(path)
  const descriptor = fs.openSync(temporary, "wx", 0o600)
  try {
    try {
      fs.writeFileSync(descriptor, text)
      fs.fsyncSync(descriptor)
    } finally {
      fs.closeSync(descriptor)
    }
    place(temporary)
  } finally {
    fs.rmSync(temporary, { force: true })
  }
}

/** What a virus scanner, an indexer or a network mount answers while it holds the file for a moment. */
const passing: ReadonlySet<string> = new Set(["EPERM", "EACCES", "EBUSY"])
const renameTries = 10
const renamePauseMs = 10

const renamePatiently = (from: string, to: string): void => {
  for (let left = renameTries - 1; ; left--) {
    try {
      return fs.renameSync(from, to)
    } catch (error) {
      if (left === 0 || !passing.has(codeOf(error))) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, renamePauseMs)
    }
  }
}

/**
 * Puts `text` at `path`, mode 0600, whole or not at all: temporary file, fsync, rename. Throws the system's error; then
 * the old file is as it was and no temporary file is left.
 *
 * **Details** A rename that is refused with EPERM, EACCES or EBUSY is tried again for a tenth of a second.
 *
 * **When to use** For every small record that another process may read at any moment.
 *
 * **Gotchas** Another file is at the path afterwards: never for a file that is also a lock (`rewrite`).
 *
 * **Example**
 *
 * ```ts
 * import * as files from "@holdfast/lock/files"
 * import * as os from "node:os"
 * import * as path from "node:path"
 *
 * const file = path.join(os.tmpdir(), "hello.json")
 * files.replace(file, `{"answer":42}\n`)
 * const reading = files.read(file)
 * console.log(reading._tag === "Text" && reading.text) // => "{\"answer\":42}\n"
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const replace = (path: string, text: string): void =>
  viaTemporary(path, text, (temporary) => {
    step("at-rename")
    renamePatiently(temporary, path)
  })

/**
 * Like `replace`, but never over an existing file: temporary file, fsync, link. `false` when one was there.
 *
 * **When to use** Where whoever comes first decides, as with a secret.
 *
 * **Example**
 *
 * ```ts
 * import * as files from "@holdfast/lock/files"
 * import * as os from "node:os"
 * import * as path from "node:path"
 *
 * const file = path.join(os.tmpdir(), "hello.secret")
 * console.log(files.create(file, "first")) // => true
 * console.log(files.create(file, "second")) // => false
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const create = (path: string, text: string): boolean => {
  let created = true
  viaTemporary(path, text, (temporary) => {
    try {
      fs.linkSync(temporary, path)
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error
      created = false
    }
  })
  return created
}

/** One page: what is written in one piece is read in one piece. */
const pageSize = 4096

/**
 * Writes `text` into the file that is there, padded with spaces to 4,096 bytes, for a record in a file that is also a
 * lock: another file renamed over it would be another lock. Empty text empties it. `false` when it could not.
 *
 * **Details** It never creates a file, follows no link, and leaves alone what is no regular file. A reader that comes in
 * the middle may find half of it, as after a crash, so it must be able to do without.
 *
 * **Example**
 *
 * ```ts
 * import * as files from "@holdfast/lock/files"
 * import type { ServicePaths } from "@holdfast/lock/ServicePaths"
 *
 * // Only under that lock.
 * export const keepBudget = ({ budget }: ServicePaths, starts: number): boolean =>
 *   files.rewrite(budget, JSON.stringify({ starts }))
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const rewrite = (path: string, text: string): boolean => {
  const { O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = fs.constants
  const bytes = Buffer.from(text)
  if (bytes.length > pageSize) return false
  try {
    const descriptor = fs.openSync(path, O_WRONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0))
    try {
      if (!fs.fstatSync(descriptor).isFile()) return false
      if (bytes.length === 0) fs.ftruncateSync(descriptor)
      else fs.writeSync(descriptor, Buffer.concat([bytes, Buffer.alloc(pageSize - bytes.length, " ")]), 0, pageSize, 0)
      return true
    } finally {
      fs.closeSync(descriptor)
    }
  } catch {
    return false
  }
}

/**
 * Removes a file; one that is not there is fine.
 *
 * **Details** Throws the system's error where it cannot be removed. It removes no directory.
 *
 * **Example**
 *
 * ```ts
 * import * as files from "@holdfast/lock/files"
 * import type { ServicePaths } from "@holdfast/lock/ServicePaths"
 *
 * export const forget = ({ continuity }: ServicePaths): void => files.remove(continuity)
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const remove = (path: string): void => fs.rmSync(path, { force: true })

/**
 * Removes temporary files that writers of `path` left when they were killed. Only the owner of the record may: nobody
 * else writes it then.
 *
 * **When to use** As the owner, at the start.
 *
 * **Example**
 *
 * ```ts
 * import * as files from "@holdfast/lock/files"
 * import type { ServicePaths } from "@holdfast/lock/ServicePaths"
 *
 * // As the owner, before the first write.
 * export const tidy = ({ registration }: ServicePaths): void => files.sweep(registration)
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const sweep = (path: string): void => {
  const { basename, dirname, join } = process.getBuiltinModule("node:path")
  const left = new RegExp(`^${basename(path).replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}\\.\\d+\\.[a-z0-9]+\\.tmp$`)
  for (const name of fs.readdirSync(dirname(path))) if (left.test(name)) remove(join(dirname(path), name))
}
