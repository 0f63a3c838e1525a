/** Hearing that something changed in a directory. */
import { inodeOf } from "@holdfast/lock/OwnerNote"
import * as Effect from "effect/Effect"

const fs = process.getBuiltinModule("node:fs")

export interface Bell {
  /** Once something in the directory has changed since the last time. */
  readonly rung: Effect.Effect<void>
  readonly close: () => void
}

/** The directory may come, go, and be another one by the same name. */
export const bellOn = (directory: string): Bell => {
  let watching: { readonly inode: string; readonly close: () => void } | undefined
  let ringing = false
  let listener: (() => void) | undefined
  const ring = () => {
    ringing = true
    listener?.()
  }
  const close = () => {
    watching?.close()
    watching = undefined
  }
  const arm = () => {
    const inode = inodeOf(directory)
    if (inode === watching?.inode) return
    close()
    if (inode === undefined) return
    try {
      const watcher = fs.watch(directory, ring)
      watcher.on("error", close)
      watching = { inode, close: () => watcher.close() }
    } catch {
      // none left on this machine: the poll goes on
    }
  }
  const rung = Effect.callback<void>((resume) => {
    arm()
    listener = () => {
      listener = undefined
      ringing = false
      resume(Effect.void)
    }
    if (ringing) listener()
    return Effect.sync(() => (listener = undefined))
  })
  return { rung, close }
}
