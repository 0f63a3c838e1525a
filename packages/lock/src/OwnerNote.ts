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
 * **When to use** To tell whether a path still names the file that was opened: a lock that was deleted and made again is
 * another lock.
 *
 * **Example**
 *
 * ```ts
 * import { inodeOf } from "@holdfast/lock/OwnerNote"
 *
 * export const wasReplaced = (path: string, held: string): boolean => inodeOf(path) !== held
 * ```
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
 * **Details** A file above 64 KiB is no note. What the note says is not looked into: its process may have ended long ago.
 *
 * **When to use** To show what is written there. Whether it still holds, `living` and `holder` tell.
 *
 * **Example**
 *
 * ```ts
 * import * as OwnerNote from "@holdfast/lock/OwnerNote"
 * import { paths } from "@holdfast/lock/ServicePaths"
 *
 * export const runningSince = (): Date | undefined => {
 *   const note = OwnerNote.read(paths({ app: "hello" }).owner)
 *   return note === undefined ? undefined : new Date(note.startedAt)
 * }
 * ```
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
 * **Details** Whole or not at all, mode 0600. `startedAt` is now where it is not given.
 *
 * **When to use** As soon as the lock is held, so that contenders that come can leave without touching it.
 *
 * **Example**
 *
 * ```ts
 * import { enter } from "@holdfast/lock/gate"
 * import * as OwnerNote from "@holdfast/lock/OwnerNote"
 * import type { ServicePaths } from "@holdfast/lock/ServicePaths"
 *
 * export const become = async ({ lock, owner }: ServicePaths, instanceID: string): Promise<boolean> => {
 *   const outcome = await enter(lock, { note: owner })
 *   if (outcome._tag !== "Acquired") return false
 *   OwnerNote.write(owner, { instanceID, lock })
 *   return true
 * }
 * ```
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
 * **When to use** Now and then while the lock is held, since somebody may tidy the directory up. Throws the system's error.
 *
 * **Example**
 *
 * ```ts
 * import * as OwnerNote from "@holdfast/lock/OwnerNote"
 * import type { ServicePaths } from "@holdfast/lock/ServicePaths"
 *
 * export const heal = ({ lock, owner }: ServicePaths, instanceID: string): void => {
 *   if (OwnerNote.reassert(owner, { instanceID, lock })) console.warn(`put back: ${owner}`)
 * }
 * ```
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
 * **When to use** Before the lock is let go of. A note of another instance stays.
 *
 * **Example**
 *
 * ```ts
 * import { type HeldLock, release } from "@holdfast/lock/gate"
 * import * as OwnerNote from "@holdfast/lock/OwnerNote"
 *
 * export const leave = (lock: HeldLock, note: string, instanceID: string): void => {
 *   OwnerNote.removeOwn(note, instanceID)
 *   release(lock)
 * }
 * ```
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
 * **Example**
 *
 * ```ts
 * import * as OwnerNote from "@holdfast/lock/OwnerNote"
 * import { paths } from "@holdfast/lock/ServicePaths"
 *
 * export const ownerPid = (): number | undefined => {
 *   const { lock, owner } = paths({ app: "hello" })
 *   return OwnerNote.living(owner, lock)?.pid
 * }
 * ```
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
 * @category models
 * @since 0.1.0
 */
export type Holder =
  | { readonly _tag: "Here" | "Unknown"; readonly note: OwnerNote }
  | { readonly _tag: "Elsewhere"; readonly host: string; readonly note: OwnerNote }
  | { readonly _tag: "Nobody" }

/**
 * Who holds the lock at `lock`, by the note at `note`: see `Holder`. It takes no lock and throws nothing.
 *
 * **When to use** For people and diagnostics, where "nobody" and "cannot be told from here" must not be confused.
 *
 * **Example**
 *
 * ```ts
 * import * as OwnerNote from "@holdfast/lock/OwnerNote"
 * import { paths } from "@holdfast/lock/ServicePaths"
 *
 * export const who = (): string => {
 *   const { lock, owner } = paths({ app: "hello" })
 *   const holder = OwnerNote.holder(owner, lock)
 *   switch (holder._tag) {
 *     case "Here":
 *       return `PID ${holder.note.pid}`
 *     case "Elsewhere":
 *       return `a process on ${holder.host}`
 *     case "Unknown":
 *       return `PID ${holder.note.pid}, if it still runs`
 *     case "Nobody":
 *       return "nobody"
 *   }
 * }
 * ```
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
