/** Taking the lock honestly: the right inode, and a file system that really refuses a second holder. */
import * as fileSystem from "../fileSystem.ts"
import * as OwnerNote from "../OwnerNote.ts"
import { type Problem, problem } from "../Problem.ts"
import { distrust, primitiveFor } from "./loaded.ts"
import type { Grip, Primitive } from "./primitive.ts"

const path = process.getBuiltinModule("node:path")

export type Attempt =
  | { readonly _tag: "Taken"; readonly grip: Grip; readonly primitive: string }
  | { readonly _tag: "Refused" }
  | ({ readonly _tag: "Unsupported" | "Failed" } & Problem)

const unsupported = (file: string, detail: string): Attempt => ({
  _tag: "Unsupported",
  code: "ENOLOCK",
  path: file,
  message: `No lock that holds could be taken on ${file}, file system ${fileSystem.of(file)?.name ?? "unknown"} (${detail}).`,
  action:
    "Install the optional dependencies (koffi) or the program flock (util-linux), or name a directory on a local disk."
})

/** The device a lock file is on, or will be. */
export const deviceOf = (file: string): string =>
  (OwnerNote.inodeOf(file) ?? OwnerNote.inodeOf(path.dirname(file)) ?? "").split(":")[0]!

/** Devices on which a primitive has refused a second holder. */
const proven = new Set<string>()

/** Proves once per device that a second open is refused. `Replaced`: the file changed meanwhile, which proves nothing. */
const selfTest = (primitive: Primitive, file: string, grip: Grip): "Honest" | "Dishonest" | "Replaced" => {
  const second = primitive.take(file)
  if (second === undefined) return "Honest"
  const inode = grip.inode()
  const same = second.inode() === inode && (inode === undefined || inode === OwnerNote.inodeOf(file))
  second.close()
  return same ? "Dishonest" : "Replaced"
}

/** After this many replacements in a row somebody is deleting the file in a loop. */
const replacements = 16

/** One attempt, not waiting for anybody. */
export const attempt = (file: string): Attempt => {
  try {
    for (let round = 0; round < replacements; round++) {
      const primitive = primitiveFor(() => deviceOf(file))
      if (typeof primitive === "string") return unsupported(file, primitive)
      const grip = primitive.take(file)
      if (grip === undefined) return { _tag: "Refused" }
      const inode = grip.inode()
      if (inode !== undefined && inode !== OwnerNote.inodeOf(file)) {
        grip.close() // the file was replaced between open and lock
        continue
      }
      const device = inode === undefined ? deviceOf(file) : inode.split(":")[0]!
      const place = `${primitive.name}\0${device}`
      const verdict = proven.has(place) ? "Honest" : selfTest(primitive, file, grip)
      if (verdict === "Honest") {
        proven.add(place)
        return { _tag: "Taken", grip, primitive: primitive.name }
      }
      grip.close()
      if (verdict === "Dishonest") distrust(primitive, device)
    }
    const message = `The lock file ${file} keeps being replaced.`
    return {
      _tag: "Failed",
      code: "EREPLACED",
      path: file,
      message,
      action: "Find what deletes it, and run this again."
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const noLocks = code === "ENOLCK" || code === "EOPNOTSUPP" || code === "ENOSYS"
    return noLocks
      ? unsupported(file, `the file system says ${code}`)
      : { _tag: "Failed", ...problem("lock", file, error) }
  }
}

/** Makes an inherited descriptor ours when it carries the lock of the file now at `file`. */
export const adopt = (descriptor: number, file: string): Attempt => {
  const primitive = primitiveFor(() => deviceOf(file))
  if (typeof primitive === "string") return unsupported(file, primitive)
  if (primitive.adopt === undefined) return unsupported(file, "no lock is inherited here")
  try {
    const grip = primitive.adopt(descriptor)
    if (grip === undefined) return { _tag: "Refused" }
    if (grip.inode() === OwnerNote.inodeOf(file)) return { _tag: "Taken", grip, primitive: primitive.name }
    grip.close() // another file's lock is not ours to keep
    return { _tag: "Refused" }
  } catch (error) {
    return { _tag: "Failed", ...problem("adopt the lock", file, error) }
  }
}
