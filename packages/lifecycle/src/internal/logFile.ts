/**
 * The log file: bounded, and found again when somebody moved it away.
 *
 * Whatever a service prints goes to the file its client opened, so the file is emptied in place after it was copied: a
 * renamed one would keep the output. Lines of our own follow the path.
 */
import { olderLogOf } from "@holdfast/lock/ServicePaths"

const fs = process.getBuiltinModule("node:fs")

/** DESIGN §7: 5 MB, and one older file of that size. */
export const limitBytes = 5_000_000

export interface LogFile {
  /** One entry, stamped; it may have several lines. Never throws: a log that cannot be written stops nothing. */
  readonly write: (level: string, text: string) => void
  /** Keeps the size within the bound; call it once a second. */
  readonly check: () => void
  readonly close: () => void
}

const inodeOf = (stat: { readonly dev: bigint; readonly ino: bigint }): string => `${stat.dev}:${stat.ino}`

const attempt = <A>(action: () => A): A | undefined => {
  try {
    return action()
  } catch {
    return undefined
  }
}

const seen = (path: string) => attempt(() => fs.statSync(path, { bigint: true }))

/** Copies and empties a file that has grown beyond its bound. Where there is no room for a copy, it is only emptied. */
const rotate = (path: string, limit: number): void => {
  const stat = seen(path)
  if (stat === undefined || !stat.isFile() || stat.size <= BigInt(limit)) return
  const older = olderLogOf(path)
  attempt(() => fs.rmSync(older, { force: true }))
  if (attempt(() => (fs.copyFileSync(path, older), true)) === undefined) {
    attempt(() => fs.rmSync(older, { force: true }))
  }
  attempt(() => fs.truncateSync(path, 0))
}

const terminal = 1
const printed = 2

/** `path` undefined: to the terminal. `instanceID` is shown by its first eight characters. */
export const open = (path: string | undefined, instanceID: string, limit: number = limitBytes): LogFile => {
  let own: number | undefined
  let written = 0
  const target = (): number => own ?? (path === undefined ? terminal : printed)
  const isAt = (descriptor: number, file: string): boolean => {
    const there = seen(file)
    const ours = attempt(() => fs.fstatSync(descriptor, { bigint: true }))
    return there !== undefined && ours !== undefined && inodeOf(there) === inodeOf(ours)
  }
  const close = () => {
    const descriptor = own
    own = undefined
    if (descriptor !== undefined) attempt(() => fs.closeSync(descriptor))
  }
  const check = () => {
    written = 0
    if (path === undefined) return
    rotate(path, limit)
    if (isAt(target(), path)) return
    close()
    if (isAt(printed, path)) return
    own = attempt(() => fs.openSync(path, "a", 0o600))
    // what is printed goes to a file nobody can see any more
    const lost = attempt(() => fs.fstatSync(printed))
    if (lost?.isFile() === true && lost.nlink === 0) attempt(() => fs.ftruncateSync(printed, 0))
  }
  check()
  return {
    check,
    close,
    write: (level, text) => {
      const entry = `${new Date().toISOString()} ${level.toUpperCase().padEnd(5)} ${instanceID.slice(0, 8)} ${text}\n`
      written += entry.length
      attempt(() => fs.writeSync(target(), entry))
      if (written > limit / 10) check()
    }
  }
}
