/** The compiled code of the service's program, kept for its next start: it halves the time until it is ready. */
import type { ServicePaths } from "@holdfast/lock/ServicePaths"

const fs = process.getBuiltinModule("node:fs")
const modules = () => process.getBuiltinModule("node:module")

/** What is in there is run as code: nobody else may have put it there. */
const isPrivate = (directory: string): boolean => {
  try {
    if (!fs.existsSync(directory)) fs.mkdirSync(directory, { mode: 0o700 })
    const stat = fs.lstatSync(directory)
    return (
      stat.isDirectory() &&
      stat.uid === (process.geteuid?.() ?? stat.uid) &&
      (process.platform === "win32" || (stat.mode & 0o077) === 0)
    )
  } catch {
    return false // a full or read-only disk: it starts as it would without
  }
}

/** It takes some megabytes. The last of a disk is for the lease and the registration. */
const room = 64 * 1024 * 1024

const hasRoom = (directory: string): boolean => {
  try {
    const { bavail, bsize } = fs.statfsSync(directory)
    return bavail * bsize >= room
  } catch {
    return true // a file system that does not say
  }
}

/** For what is imported from here on. A cache that the environment names already stays. */
export const enable = ({ cache, directory }: ServicePaths): void => {
  const { enableCompileCache, getCompileCacheDir } = modules()
  if (enableCompileCache === undefined || getCompileCacheDir() !== undefined) return
  if (process.env["NODE_DISABLE_COMPILE_CACHE"] !== undefined || !hasRoom(directory) || !isPrivate(cache)) return
  const umask = process.umask(0o077) // it makes a directory in there that anybody may enter
  try {
    enableCompileCache(cache)
  } finally {
    process.umask(umask)
  }
}

/** Writes it out, since a service lives for weeks and may end by a signal. Does nothing where there is none. */
export const flush = (): void => modules().flushCompileCache?.()
