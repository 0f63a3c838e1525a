/** Hears that something in a directory was written or removed. Plain, since it must also work where inotify is used up. */
import { inodeOf } from "@holdfast/lock/OwnerNote"

const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")

export interface DirectoryWatch {
  /** Watches what is at the path now: the directory may have been replaced, or have come only by now. */
  readonly renew: () => void
  readonly close: () => void
}

/** Where nothing can be watched it never calls `onChange`; whoever listens looks now and then, too. */
export const watchDirectory = (directory: string, onChange: (name: string | null) => void): DirectoryWatch => {
  let watching: { readonly inode: string; readonly close: () => void } | undefined
  const close = () => {
    watching?.close()
    watching = undefined
  }
  const renew = () => {
    const inode = inodeOf(directory)
    if (inode === watching?.inode) return
    close()
    if (inode === undefined) return
    try {
      const watcher = fs.watch(directory, { persistent: false }, (_, name) => onChange(name))
      watcher.on("error", close)
      watching = { inode, close: () => watcher.close() }
    } catch {
      return // none is left on this machine, or none may be had
    }
  }
  renew()
  return { renew, close }
}

/** The same for these files, all in one directory. */
export const watchRecords = (records: ReadonlyArray<string>, onChange: () => void): DirectoryWatch => {
  const names = new Set(records.map((record) => path.basename(record)))
  return watchDirectory(path.dirname(records[0]!), (name) => {
    if (name === null || names.has(name)) onChange()
  })
}
