/**
 * `owner.json`: a note by the lock holder saying who it is. Never authority for owning or signalling.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import * as files from "./files.ts"
import * as identity from "./identity.ts"

const fs = process.getBuiltinModule("node:fs")

/**
 * Who holds the lock, in the holder's own words.
 *
 * **Details** `lockInode` is `<device>:<inode>` of the lock file it holds; the note speaks only for that file.
 * `startedAt` is in milliseconds since the epoch, and so is `failedAt`: when the boot failed, where it did.
 *
 * @category models
 * @since 0.1.0
 */
export interface OwnerNote {
  readonly schema: 1
  readonly pid: number
  readonly startIdentity: string
  readonly instanceID: string
  readonly host: string
  readonly lockInode: string
  readonly startedAt: number
  readonly failedAt?: number
}

/**
 * `<device>:<inode>` of the file at `path`; `undefined` when there is none or it cannot be seen.
 *
 * @category combinators
 * @since 0.1.0
 */
export const inodeOf = (path: string): string | undefined => {
  try {
    const stat = fs.statSync(path, { bigint: true })
    return `${stat.dev}:${stat.ino}`
  } catch {
    return undefined
  }
}

const isNote = (value: unknown): value is OwnerNote => {
  if (typeof value !== "object" || value === null) return false
  const note = value as Record<string, unknown>
  return (
    note["schema"] === 1 &&
    Number.isInteger(note["pid"]) &&
    Number.isFinite(note["startedAt"]) &&
    ["startIdentity", "instanceID", "host", "lockInode"].every((key) => typeof note[key] === "string")
  )
}

/**
 * The note at `path`, or `undefined` when there is none, it is garbage or of another shape.
 *
 * @category combinators
 * @since 0.1.0
 */
export const read = (path: string): OwnerNote | undefined => {
  const reading = files.read(path)
  if (reading._tag !== "Text") return undefined
  try {
    const value: unknown = JSON.parse(reading.text)
    return isNote(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * What a note is written from; `lock` is the lock's path.
 *
 * @category models
 * @since 0.1.0
 */
export interface NoteOptions {
  readonly instanceID: string
  readonly lock: string
  readonly startedAt?: number
  readonly failedAt?: number | undefined
}

/**
 * Writes this process's note. Only the lock holder may; throws the system's error.
 *
 * @category combinators
 * @since 0.1.0
 */
export const write = (path: string, options: NoteOptions): OwnerNote => {
  const note: OwnerNote = {
    schema: 1,
    ...identity.own(),
    instanceID: options.instanceID,
    lockInode: inodeOf(options.lock) ?? "",
    startedAt: options.startedAt ?? Date.now(),
    ...(options.failedAt === undefined ? {} : { failedAt: options.failedAt })
  }
  files.replace(path, `${JSON.stringify(note)}\n`)
  return note
}

/**
 * Writes this process's note again where it is missing, damaged, somebody else's, or about a lock file that is not there
 * any more. `true` when it had to.
 *
 * @category combinators
 * @since 0.1.0
 */
export const reassert = (path: string, options: NoteOptions): boolean => {
  const found = read(path)
  const current = found?.instanceID === options.instanceID && found.pid === process.pid
  if (current && found.lockInode === inodeOf(options.lock)) return false
  write(path, options)
  return true
}

/**
 * Removes the note, as far as it is still that instance's: who holds no lock any more must not be believed to.
 *
 * @category combinators
 * @since 0.1.0
 */
export const removeOwn = (path: string, instanceID: string): void => {
  if (read(path)?.instanceID === instanceID) files.remove(path)
}

/**
 * The note, when it is about the lock file now at `lock` and its writer is provably running.
 *
 * **When to use** For a contender that can leave without touching the lock. A wrong answer costs one loser, never a
 * second owner.
 *
 * @category combinators
 * @since 0.1.0
 */
export const living = (note: string, lock: string): OwnerNote | undefined => {
  const found = read(note)
  if (found === undefined || found.pid === process.pid) return undefined
  return found.lockInode === inodeOf(lock) && identity.state(found) === "alive" ? found : undefined
}

/**
 * Who holds the lock at `lock`, by the note beside it and without touching the lock. For people and diagnostics.
 *
 * **Details** `Here`: a process of this machine, provably running. `Elsewhere`: the note is another host's, as on a shared
 * home directory; nobody can tell from here whether it runs. `Unknown`: its process cannot be seen from here. `Nobody`:
 * there is no note, it is about another lock file, or its process has ended.
 *
 * @category combinators
 * @since 0.1.0
 */
export type Holder =
  | { readonly _tag: "Here" | "Unknown"; readonly note: OwnerNote }
  | { readonly _tag: "Elsewhere"; readonly host: string; readonly note: OwnerNote }
  | { readonly _tag: "Nobody" }

/**
 * See `Holder`.
 *
 * @category combinators
 * @since 0.1.0
 */
export const holder = (note: string, lock: string): Holder => {
  const found = read(note)
  if (found === undefined) return { _tag: "Nobody" }
  if (identity.isElsewhere(found)) return { _tag: "Elsewhere", host: found.host, note: found }
  const state = found.lockInode === inodeOf(lock) ? identity.state(found) : "dead"
  return state === "dead" ? { _tag: "Nobody" } : { _tag: state === "alive" ? "Here" : "Unknown", note: found }
}
