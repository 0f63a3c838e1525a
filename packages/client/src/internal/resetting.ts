/** Removing what a service keeps, once it is proved that nobody runs it. */
import { isElsewhere, type IdentityState, type ProcessIdentity, state } from "@holdfast/lock/identity"
import * as lease from "@holdfast/lock/lease"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import { problem } from "@holdfast/lock/Problem"
import { isStateName, type ServicePaths } from "@holdfast/lock/ServicePaths"

const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")

/** Somebody whom the files name as the owner, and what is known of the process. */
export interface Claimant {
  readonly pid: number
  readonly host: string
  readonly lockInode: string | null
  readonly state: IdentityState
  readonly elsewhere: boolean
}

/** What a claimant means for who wants to remove the files. `unproved`: only the lock can tell. */
export type Standing = "gone" | "runs" | "elsewhere" | "unproved"

/**
 * The kernel's word stands above a record that cannot be judged from here: whoever holds the lock file that the record
 * is about is alone. Not beside another machine, whose lock may be one of its own. `heldInode` is that of the lock we
 * hold, `null` where we hold none that proves anything.
 */
export const standingOf = (claimant: Claimant, heldInode: string | null): Standing => {
  if (claimant.state === "dead") return "gone"
  if (claimant.state === "alive") return "runs"
  if (claimant.elsewhere) return "elsewhere"
  return heldInode !== null && claimant.lockInode === heldInode ? "gone" : "unproved"
}

/** By the owner's note and by the lease; `busy` when somebody keeps the lease locked. */
export const claimants = (paths: ServicePaths): ReadonlyArray<Claimant> | "busy" => {
  const note = OwnerNote.read(paths.owner)
  const sight = lease.inspect(paths.lease)
  if (sight._tag === "Unusable" && sight.code === "busy") return "busy"
  const row = sight._tag === "Row" ? sight.holder : null
  return [note, row]
    .filter((record) => record !== undefined && record !== null)
    .map((record: ProcessIdentity & { readonly lockInode: string | null }) => ({
      pid: record.pid,
      host: record.host,
      lockInode: record.lockInode,
      state: state(record),
      elsewhere: isElsewhere(record)
    }))
}

/** What there is to remove; names, in their order. Throws the system's error. */
export const namesIn = (paths: ServicePaths): ReadonlyArray<string> =>
  fs.existsSync(paths.directory)
    ? fs
        .readdirSync(paths.directory)
        .filter((name) => isStateName(paths, name))
        .toSorted()
    : []

export interface Removal {
  readonly removed: ReadonlyArray<string>
  /** A sentence for each that is still there. */
  readonly left: ReadonlyArray<{ readonly message: string; readonly action: string }>
}

/** A link is removed itself, never followed; what is no file is left. */
export const remove = (paths: ServicePaths, names: ReadonlyArray<string>): Removal => {
  const removed: Array<string> = []
  const left: Array<{ readonly message: string; readonly action: string }> = []
  for (const name of names) {
    const file = path.join(paths.directory, name)
    try {
      const isDirectory = fs.lstatSync(file).isDirectory()
      if (isDirectory && file === paths.cache) fs.rmSync(file, { recursive: true })
      else if (isDirectory) throw Object.assign(new Error("a directory"), { code: "EISDIR" })
      else fs.unlinkSync(file)
      removed.push(name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") left.push(problem("remove", file, error))
    }
  }
  return { removed, left }
}
