/** Reading a log as it grows: emptied in place, removed, made anew, or not there yet. */
import { inodeOf } from "@holdfast/lock/OwnerNote"
import { olderLogOf } from "@holdfast/lock/ServicePaths"
import { openLog } from "./logEnd.ts"

const fs = process.getBuiltinModule("node:fs")

export interface LogReader {
  /** What was written since, as far as it fits; `undefined` when there is nothing new. Throws the system's error. */
  readonly next: () => Buffer | undefined
  readonly close: () => void
}

/** The file that is read, how far, and the last bytes so far, by which it is known again. */
interface Open {
  readonly descriptor: number
  readonly inode: string
  readonly offset: number
  readonly tail: Buffer
}

const chunk = 64 * 1024
const memory = 64
const nothing = Buffer.alloc(0)
const newline = Buffer.from("\n")

const readAt = (descriptor: number, from: number, length: number): Buffer => {
  const buffer = Buffer.alloc(length)
  return buffer.subarray(0, fs.readSync(descriptor, buffer, 0, length, from))
}

const opened = (descriptor: number, offset: number): Open => {
  const { dev, ino } = fs.fstatSync(descriptor, { bigint: true })
  const from = Math.max(offset - memory, 0)
  return { descriptor, inode: `${dev}:${ino}`, offset, tail: readAt(descriptor, from, offset - from) }
}

/** Whether a file begins with what was read of another: a log that was emptied and has grown again does not. */
const continues = (descriptor: number, { offset, tail }: Open): boolean =>
  fs.fstatSync(descriptor).size >= offset && readAt(descriptor, offset - tail.length, tail.length).equals(tail)

const tryOpen = (path: string): number | undefined => {
  try {
    return openLog(path)
  } catch {
    return undefined // what is in its place for now is not the log
  }
}

/** What the service copied to the older part before it emptied the log, and nobody has read yet. */
const restOf = (path: string, open: Open): Buffer => {
  const descriptor = tryOpen(olderLogOf(path))
  if (descriptor === undefined) return nothing
  try {
    if (!continues(descriptor, open)) return nothing
    return readAt(descriptor, open.offset, fs.fstatSync(descriptor).size - open.offset)
  } finally {
    fs.closeSync(descriptor)
  }
}

/** Reads on at byte `from` of an open log, or from the first byte of the one that will be at `path`. */
export const readOn = (path: string, start?: { readonly descriptor: number; readonly from: number }): LogReader => {
  let open = start === undefined ? undefined : opened(start.descriptor, start.from)
  const close = () => {
    if (open !== undefined) fs.closeSync(open.descriptor)
    open = undefined
  }
  const more = (from: Open): Buffer => {
    const found = readAt(from.descriptor, from.offset, chunk)
    const tail = Buffer.concat([from.tail, found]).subarray(-memory)
    open = { ...from, offset: from.offset + found.length, tail }
    return found
  }
  /** Where a file ends in the middle of a line, the next one's first line is not part of it. */
  const ending = (last: Buffer) => (last.length === 0 || last.at(-1) === newline[0] ? nothing : newline)
  const next = (): Buffer | undefined => {
    if (open === undefined) {
      const descriptor = tryOpen(path)
      if (descriptor === undefined) return undefined
      open = opened(descriptor, 0)
    }
    if (!continues(open.descriptor, open)) {
      const rest = restOf(path, open)
      const last = rest.length === 0 ? open.tail : rest
      open = { ...open, offset: 0, tail: nothing }
      return Buffer.concat([rest, ending(last)])
    }
    const found = more(open)
    if (found.length > 0) return found
    const there = inodeOf(path)
    if (there === undefined || there === open.inode) return undefined
    const descriptor = tryOpen(path)
    if (descriptor === undefined) return undefined
    const last = open.tail
    close()
    open = opened(descriptor, 0)
    return Buffer.concat([ending(last), more(open)])
  }
  return { next, close }
}
