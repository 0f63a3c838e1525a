/** What a doctor looks at. Everything here is read; nothing is created, written, locked, started or signalled. */
import * as Credential from "@holdfast/lifecycle/Credential"
import type { Registration } from "@holdfast/lifecycle/Registration"
import type { ServiceHealth } from "@holdfast/lifecycle/ServiceHealth"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { parseRegistration } from "@holdfast/lifecycle/StartupOutcome"
import * as files from "@holdfast/lock/files"
import { primitiveAt } from "@holdfast/lock/gate"
import * as identity from "@holdfast/lock/identity"
import * as lease from "@holdfast/lock/lease"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import { type Problem, problem } from "@holdfast/lock/Problem"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import { logEnd } from "./logEnd.ts"
import { directoryOf, environmentOf, fileSystemOf, programOf } from "./surroundings.ts"

/**
 * What is in a record's place.
 *
 * @category models
 * @since 0.1.0
 */
export type Seen<A> =
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Seen"; readonly value: A }
  | { readonly _tag: "Garbage" }
  | { readonly _tag: "Unreadable"; readonly problem: Problem }

/**
 * `NotAsked`: there was nobody to ask, or no way to do so without giving anything away.
 *
 * @category models
 * @since 0.1.0
 */
export type Endpoint =
  | { readonly _tag: "NotAsked"; readonly why: string }
  | { readonly _tag: "Answered"; readonly health: ServiceHealth }
  | { readonly _tag: "Unreachable"; readonly why: string; readonly silent: boolean }

/**
 * All that a doctor judges by, as data.
 *
 * @category models
 * @since 0.1.0
 */
export interface Facts {
  readonly spec: Pick<ServiceSpec, "app" | "title" | "version" | "policy">
  readonly paths: ServicePaths
  /** Wall clock, milliseconds since the epoch. */
  readonly now: number
  readonly directory: { readonly exists: boolean; readonly mode?: number; readonly problem?: Problem }
  readonly fileSystem: { readonly name?: string; readonly remote: boolean; readonly freeBytes?: number }
  readonly primitive: ReturnType<typeof primitiveAt>
  readonly note: Seen<OwnerNote.OwnerNote>
  readonly holder: OwnerNote.Holder
  readonly registration: Seen<Registration>
  /** Of the registered process, by its note; `unknown` without one. */
  readonly registered: identity.IdentityState
  readonly endpoint: Endpoint
  readonly secret: "Secret" | "Absent" | "Malformed" | Problem
  readonly lease: lease.LeaseSight
  /** The program that a start would run; without `modifiedAt` it is not there. */
  readonly program: { readonly file: string; readonly modifiedAt?: number } | undefined
  readonly environment: Environment
  /** Its last lines. */
  readonly log: Seen<ReadonlyArray<string>>
}

/**
 * What is around this program, and may not be what a service gets.
 *
 * @category models
 * @since 0.1.0
 */
export interface Environment {
  readonly home: string | undefined
  readonly recordedHome: string | undefined
  readonly stateDir: { readonly name: string; readonly value: string | undefined }
  readonly channel: string
  readonly profile: string
  /** Names of variables that are set here and that a service never gets. */
  readonly kept: ReadonlyArray<string>
}

const record = <A>(what: string, file: string, decode: (text: string) => A | undefined): Seen<A> => {
  const reading = files.read(file)
  switch (reading._tag) {
    case "Absent":
      return reading
    case "Unreadable":
      return { _tag: "Unreadable", problem: problem(`read the ${what}`, file, reading) }
    case "Text": {
      const value = decode(reading.text)
      return value === undefined ? { _tag: "Garbage" } : { _tag: "Seen", value }
    }
  }
}

const tailLength = 200

const logOf = (file: string): Facts["log"] => {
  try {
    const lines = logEnd(file)
    return lines === undefined ? { _tag: "Absent" } : { _tag: "Seen", value: lines.slice(-tailLength) }
  } catch (error) {
    return { _tag: "Unreadable", problem: problem("read the log", file, error) }
  }
}

/** A note or lease of another machine: what answers at that address here is another program. */
const asking = (
  registration: Facts["registration"],
  registered: identity.IdentityState,
  holder: OwnerNote.Holder,
  secret: Credential.SecretReading
): { readonly why: string } | { readonly registration: Registration; readonly secret: Credential.Secret } => {
  if (registration._tag !== "Seen") return { why: "nobody is registered" }
  if (registered === "dead") return { why: "its process has ended" }
  if (holder._tag === "Elsewhere") return { why: `it is on host ${holder.host}` }
  return secret._tag === "Secret"
    ? { registration: registration.value, secret: secret.secret }
    : { why: "there is no secret to prove it by" }
}

/** For each of the two rounds of the proof, in milliseconds. */
const roundMs = 1500

/** Reads everything, asks the owner, and takes less than five seconds whatever answers. */
export const gather = async (spec: ServiceSpec, paths: ServicePaths, now: () => number): Promise<Facts> => {
  const note = record("owner's note", paths.owner, () => OwnerNote.read(paths.owner))
  const holder = OwnerNote.holder(paths.owner, paths.lock)
  const registration = record("registration", paths.registration, parseRegistration)
  const about =
    note._tag === "Seen" && registration._tag === "Seen" && note.value.instanceID === registration.value.instanceID
  const registered = about ? identity.state(note.value) : "unknown"
  const secret = Credential.load(paths.secret)
  const ask = asking(registration, registered, holder, secret)
  const answered: Endpoint =
    "why" in ask
      ? { _tag: "NotAsked", why: ask.why }
      : await Credential.attach(ask.registration, ask.secret, { directory: paths.directory, timeoutMs: roundMs }).then(
          (attached) => (attached._tag === "Attached" ? { _tag: "Answered", health: attached.health } : attached)
        )
  const { app, policy, title, version } = spec
  return {
    spec: { app, version, ...(title === undefined ? {} : { title }), ...(policy === undefined ? {} : { policy }) },
    paths,
    now: now(),
    directory: directoryOf(paths.directory),
    fileSystem: fileSystemOf(paths.directory),
    primitive: primitiveAt(paths.lock),
    note,
    holder,
    registration,
    registered,
    endpoint: answered,
    secret: secret._tag === "Rejected" ? secret.problem : secret._tag,
    lease: lease.inspect(paths.lease),
    program: programOf(spec.entry),
    environment: environmentOf(spec),
    log: logOf(paths.log)
  }
}
