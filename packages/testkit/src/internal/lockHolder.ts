/** Who holds a lock, asked of the system and not of the lock. */
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import { textOf } from "./marks.ts"

const fs = process.getBuiltinModule("node:fs")

/** The pid in `/proc/locks` (proc_locks(5)) for a file's device and inode. */
export const holderIn = (locks: string, device: bigint, inode: bigint): number | undefined => {
  const [major, minor] = [(device >> 8n) & 0xfffn, (device & 0xffn) | ((device >> 12n) & 0xfff00n)]
  const hex = (part: bigint) => part.toString(16).padStart(2, "0")
  const file = `${hex(major)}:${hex(minor)}:${inode}`
  for (const line of locks.split("\n")) {
    const [, kind, , mode, pid, at] = line.split(/\s+/)
    if (kind === "FLOCK" && mode === "WRITE" && at === file) return Number(pid)
  }
  return undefined
}

/** Elsewhere than on Linux whom the owner's note names, while it lives. */
export const lockHolder = (paths: ServicePaths): number | undefined => {
  if (process.platform !== "linux") return OwnerNote.living(paths.owner, paths.lock)?.pid
  const stat = fs.statSync(paths.lock, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? undefined : holderIn(textOf("/proc/locks"), stat.dev, stat.ino)
}
