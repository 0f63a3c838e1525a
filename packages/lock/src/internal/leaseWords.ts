import type { LeaseCode } from "./leaseDatabase.ts"

const words: Readonly<Record<LeaseCode, readonly [reason: string, action: string]>> = {
  busy: ["another process keeps it locked", "Find what holds it open, or wait."],
  full: ["the disk is full", "Free some space; a running service goes on by itself."],
  "read-only": ["it is read-only", "Make it writable."],
  corrupt: ["it is damaged", "Stop the service and remove the file; it holds nothing but the lease."],
  "newer-schema": ["a newer version wrote it", "Update this application."],
  denied: ["permission denied", "Give yourself access to it, or name another directory."],
  io: ["the disk reports an error", "Check the disk, or name another directory."]
}

/** SQLite's own limit, for a database that has a journal beside it. */
const longestPath = 504

/** Why the lease at `path` cannot be used now, and what to do. */
export const leaseWords = (path: string, code: LeaseCode): { readonly message: string; readonly action: string } => {
  const bytes = Buffer.byteLength(path)
  const [reason, action] =
    code === "denied" && bytes > longestPath
      ? [
          `its path has ${bytes} bytes, and SQLite takes at most ${longestPath}`,
          "Name a directory with a shorter path."
        ]
      : words[code]
  return { message: `Cannot use the lease ${path}: ${reason}.`, action }
}
