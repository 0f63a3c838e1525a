/** Hears that one of a service's records was written or removed. Plain, since it must also work where inotify is used up. */
const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")

export interface DirectoryWatch {
  /** Watches what is at the path now: the directory may have been replaced, or have come only by now. */
  readonly renew: () => void
  readonly close: () => void
}

const inodeOf = (directory: string): string => {
  const stat = fs.statSync(directory, { throwIfNoEntry: false, bigint: true })
  return stat === undefined ? "" : `${stat.dev}:${stat.ino}`
}

/** Calls `onChange` for these files, all in one directory; where nothing can be watched it never does. */
export const watchRecords = (records: ReadonlyArray<string>, onChange: () => void): DirectoryWatch => {
  const directory = path.dirname(records[0]!)
  const names = new Set(records.map((record) => path.basename(record)))
  let watching: import("node:fs").FSWatcher | undefined
  let inode = ""
  let given = false
  const close = () => {
    watching?.close()
    watching = undefined
  }
  const renew = () => {
    if (given) return
    try {
      const now = inodeOf(directory)
      if (now === inode) return
      close()
      inode = now
      if (now === "") return
      watching = fs.watch(directory, { persistent: false }, (_, name) => {
        if (name === null || names.has(name)) onChange()
      })
      watching.on("error", close)
    } catch {
      given = true // no watch is left on this machine, or none may be had: the poll beneath does without
    }
  }
  renew()
  return { renew, close }
}
