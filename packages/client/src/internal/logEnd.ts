/** The end of a log file. */
import { olderLogOf } from "@holdfast/lock/ServicePaths"

const fs = process.getBuiltinModule("node:fs")

const window = 1024 * 1024

/**
 * Opens a log for reading; `undefined` when there is none. Throws the system's error, and one for what is no file.
 * A FIFO in its place must not block.
 */
export const openLog = (path: string): number | undefined => {
  if (!fs.existsSync(path)) return undefined
  const descriptor = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0))
  if (fs.fstatSync(descriptor).isFile()) return descriptor
  fs.closeSync(descriptor)
  throw Object.assign(new Error("not a file"), { code: "EISDIR" })
}

/** Its lines from byte `from` on, of the last MiB at most; `undefined` when there is no log. Throws the system's error. */
export const logEnd = (path: string, from = 0): ReadonlyArray<string> | undefined => {
  const descriptor = openLog(path)
  if (descriptor === undefined) return undefined
  try {
    return linesOf(descriptor, from, fs.fstatSync(descriptor).size)
  } finally {
    fs.closeSync(descriptor)
  }
}

const linesOf = (descriptor: number, from: number, to: number): ReadonlyArray<string> => {
  const start = Math.max(from, to - window, 0)
  const buffer = Buffer.alloc(Math.max(to - start, 0))
  const length = fs.readSync(descriptor, buffer, 0, buffer.length, start)
  return buffer.toString("utf8", 0, length).trimEnd().split("\n")
}

/**
 * The last `count` lines before byte `to` of the open log at `path`, also from its older part where it was just emptied.
 * Throws the system's error.
 */
export const lastLines = (path: string, descriptor: number, count: number, to: number): ReadonlyArray<string> => {
  const lines = to === 0 ? [] : linesOf(descriptor, 0, to)
  const missing = count - lines.length
  // one that is larger than what was read is not short of lines because it was emptied
  if (missing <= 0 || to > window) return lines.slice(-count)
  return [...olderLines(path).slice(-missing), ...lines]
}

const olderLines = (path: string): ReadonlyArray<string> => {
  try {
    return logEnd(olderLogOf(path)) ?? []
  } catch {
    return [] // the log itself can be read, and is what was asked for
  }
}
