/** What the files say, before anybody is dialled. */
import * as Credential from "@holdfast/lifecycle/Credential"
import type { Registration } from "@holdfast/lifecycle/Registration"
import { parseRegistration } from "@holdfast/lifecycle/StartupOutcome"
import * as files from "@holdfast/lock/files"
import * as identity from "@holdfast/lock/identity"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import { type Problem, problem } from "@holdfast/lock/Problem"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as StateDirectory from "@holdfast/lock/StateDirectory"

export type Look =
  /** No usable registration, or another's than the holder's; `holder` is the owner that the note names, when it runs. */
  | { readonly _tag: "Missing"; readonly holder: OwnerNote.OwnerNote | undefined }
  /** `owner`: whether the registered process still runs, by its identity. A dead one is never dialled. */
  | {
      readonly _tag: "Registered"
      readonly registration: Registration
      readonly owner: identity.IdentityState
      readonly note: OwnerNote.OwnerNote | undefined
      readonly secret: Credential.Secret | undefined
    }
  | { readonly _tag: "Unusable"; readonly kind: "directory" | "credential"; readonly problem: Problem }

/** Reads; creates and changes nothing. */
export const look = (paths: ServicePaths): Look => {
  const directory = StateDirectory.inspect(paths.directory)
  if (directory !== undefined) return { _tag: "Unusable", kind: "directory", problem: directory }
  const reading = files.read(paths.registration)
  if (
    reading._tag === "Unreadable" &&
    reading.code !== "EFBIG" &&
    reading.code !== "EISDIR" &&
    reading.code !== "EINVAL"
  ) {
    const found = problem("read the registration", paths.registration, { code: reading.code })
    return { _tag: "Unusable", kind: "directory", problem: found }
  }
  const registration = reading._tag === "Text" ? parseRegistration(reading.text) : undefined
  if (registration === undefined) return { _tag: "Missing", holder: OwnerNote.living(paths.owner, paths.lock) }
  const note = noteOf(paths, registration)
  // an owner that lives and is another one has written its note and not its registration yet: this one is its predecessor's
  const holder = note === undefined ? OwnerNote.living(paths.owner, paths.lock) : undefined
  if (holder !== undefined && holder.instanceID !== registration.instanceID) return { _tag: "Missing", holder }
  const owner = note === undefined ? "unknown" : identity.state(note)
  if (owner === "dead") return { _tag: "Registered", registration, owner, note, secret: undefined }
  const secret = Credential.load(paths.secret)
  if (secret._tag === "Rejected") return { _tag: "Unusable", kind: "credential", problem: secret.problem }
  return { _tag: "Registered", registration, owner, note, secret: secret._tag === "Secret" ? secret.secret : undefined }
}

/** The owner's note, when it is about the registered instance. */
const noteOf = (paths: ServicePaths, registration: Registration): OwnerNote.OwnerNote | undefined => {
  const note = OwnerNote.read(paths.owner)
  return note !== undefined && note.instanceID === registration.instanceID && note.pid === registration.pid
    ? note
    : undefined
}
