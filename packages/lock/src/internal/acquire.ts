/** Taking the lock honestly: the right inode, and a file system that really refuses a second holder. */
import * as fileSystem from "../fileSystem.ts"
import * as OwnerNote from "../OwnerNote.ts"
import { type Problem, problem } from "../Problem.ts"
import * as darwin from "./darwin.ts"
import * as flock from "./flock.ts"
import { choose, type Grip, here, type Primitive, type PrimitiveName } from "./primitive.ts"
import * as windows from "./windows.ts"

export type Attempt =
  | { readonly _tag: "Taken"; readonly grip: Grip; readonly primitive: string }
  | { readonly _tag: "Refused" }
  | ({ readonly _tag: "Unsupported" | "Failed" } & Problem)

const load = (name: PrimitiveName): Primitive =>
  name === "open(2) O_EXLOCK" ? darwin.make() : name.includes("share mode 0") ? windows.make(name) : flock.make(name)

/** For tests and diagnostics: only this primitive, by its name, and no other. */
const forced = (): string | undefined => process.env["HOLDFAST_LOCK_PRIMITIVE"] || undefined

interface Candidates {
  next: Primitive | undefined
  readonly waiting: Array<PrimitiveName>
  readonly refusals: Array<string>
}
let candidates: Candidates | undefined

/** The first primitive that loads, kept for the process; `drop` moves to the next when one proves dishonest. */
const current = (drop = false): Candidates => {
  if (candidates === undefined) {
    const only = forced()
    const waiting = choose(here()).filter((name) => only === undefined || name === only)
    candidates = {
      next: undefined,
      waiting,
      refusals: only !== undefined && waiting.length === 0 ? [`${only}: unknown here`] : []
    }
  }
  if (drop) candidates.next = undefined
  while (candidates.next === undefined && candidates.waiting.length > 0) {
    const name = candidates.waiting.shift()!
    try {
      candidates.next = load(name)
    } catch (error) {
      candidates.refusals.push(`${name}: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`)
    }
  }
  return candidates
}

const unsupported = (path: string, detail: string): Attempt => ({
  _tag: "Unsupported",
  code: "ENOLOCK",
  path,
  message: `No lock that holds could be taken on ${path}, file system ${fileSystem.of(path)?.name ?? "unknown"} (${detail}).`,
  action: "Install the optional package koffi or the program flock (util-linux), or name a directory on a local disk."
})

const proven = new Set<string>()
const deviceOf = (inode: string | undefined, path: string): string => inode?.split(":")[0] ?? path.slice(0, 3)

/** After this many replacements in a row somebody is deleting the file in a loop. */
const replacements = 16

/** One attempt, not waiting for anybody. */
export const attempt = (path: string): Attempt => {
  try {
    for (let round = 0; round < replacements; round++) {
      const { next: primitive, refusals } = current()
      if (primitive === undefined)
        return unsupported(path, refusals.join("; ") || `none is known for ${process.platform}`)
      const grip = primitive.take(path)
      if (grip === undefined) return { _tag: "Refused" }
      const inode = grip.inode()
      if (inode !== undefined && inode !== OwnerNote.inodeOf(path)) {
        grip.close() // the file was replaced between open and lock
        continue
      }
      const device = `${primitive.name}:${deviceOf(inode, path)}`
      if (!proven.has(device)) {
        const second = primitive.take(path)
        if (second !== undefined) {
          const same = second.inode() === inode && (inode === undefined || inode === OwnerNote.inodeOf(path))
          second.close()
          grip.close()
          if (same) {
            refusals.push(`${primitive.name}: a second holder was let in`)
            current(true)
          }
          continue
        }
        proven.add(device)
      }
      return { _tag: "Taken", grip, primitive: primitive.name }
    }
    return {
      _tag: "Failed",
      code: "EREPLACED",
      path,
      message: `The lock file ${path} keeps being replaced.`,
      action: "Find what deletes it, and run this again."
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === "ENOLCK" || code === "EOPNOTSUPP" || code === "ENOSYS")
      return unsupported(path, `the file system says ${code}`)
    return { _tag: "Failed", ...problem("lock", path, error) }
  }
}

/** Makes an inherited descriptor ours when it carries the lock of the file now at `path`. */
export const adopt = (descriptor: number, path: string): Attempt => {
  const { next: primitive, refusals } = current()
  if (primitive?.adopt === undefined) return unsupported(path, refusals.join("; ") || "no lock is inherited here")
  try {
    const grip = primitive.adopt(descriptor)
    return grip !== undefined && grip.inode() === OwnerNote.inodeOf(path)
      ? { _tag: "Taken", grip, primitive: primitive.name }
      : { _tag: "Refused" }
  } catch (error) {
    return { _tag: "Failed", ...problem("adopt the lock", path, error) }
  }
}
