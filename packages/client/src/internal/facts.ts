/** What a doctor looks at. Everything here is read; nothing is created, written, locked, started or signalled. */
import * as Credential from "@holdfast/lifecycle/Credential"
import type { Registration } from "@holdfast/lifecycle/Registration"
import type { ServiceHealth } from "@holdfast/lifecycle/ServiceHealth"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { parseRegistration } from "@holdfast/lifecycle/StartupOutcome"
import * as files from "@holdfast/lock/files"
import * as fileSystem from "@holdfast/lock/fileSystem"
import { primitiveAt } from "@holdfast/lock/gate"
import * as identity from "@holdfast/lock/identity"
import * as lease from "@holdfast/lock/lease"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import { type Problem, problem } from "@holdfast/lock/Problem"
import { homeOfUser, type ServicePaths, stateDirVariable, validate } from "@holdfast/lock/ServicePaths"
import * as StateDirectory from "@holdfast/lock/StateDirectory"
import { logEnd } from "./logEnd.ts"

const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")
const url = process.getBuiltinModule("node:url")

/** What is in a record's place. */
export type Seen<A> =
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Seen"; readonly value: A }
  | { readonly _tag: "Garbage" }
  | { readonly _tag: "Unreadable"; readonly problem: Problem }

/** `NotAsked`: there was nobody to ask, or no way to do so without giving anything away. */
export type Endpoint =
  | { readonly _tag: "NotAsked"; readonly why: string }
  | { readonly _tag: "Answered"; readonly health: ServiceHealth }
  | { readonly _tag: "Unreachable"; readonly why: string; readonly silent: boolean }

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

export interface Environment {
  readonly home: string | undefined
  readonly recordedHome: string | undefined
  readonly stateDir: { readonly name: string; readonly value: string | undefined }
  readonly channel: string
  readonly profile: string
  /** Names of variables that are set here and that a service never gets. */
  readonly kept: ReadonlyArray<string>
}

const attempt = <A>(body: () => A): A | undefined => {
  try {
    return body()
  } catch {
    return undefined
  }
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

/** Where the directory is missing, of the one it would be made in. */
const directoryOf = (directory: string): Facts["directory"] => {
  const refused = StateDirectory.inspect(directory)
  const exists = fs.existsSync(directory)
  const mode = attempt(() => fs.statSync(directory).mode & 0o7777)
  const found = { exists, ...(mode === undefined ? {} : { mode }) }
  if (refused !== undefined) return { ...found, problem: refused }
  let at = directory
  while (!fs.existsSync(at) && at !== path.dirname(at)) at = path.dirname(at)
  try {
    fs.accessSync(at, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK)
    return found
  } catch (error) {
    const doing = exists ? "use the state directory" : "make the state directory in"
    return { ...found, problem: problem(doing, at, error) }
  }
}

const fileSystemOf = (directory: string): Facts["fileSystem"] => {
  const known = fileSystem.of(directory)
  const room = attempt(() => fs.statfsSync(directory))
  return {
    remote: known?.remote === true,
    ...(known === undefined ? {} : { name: known.name }),
    ...(room === undefined ? {} : { freeBytes: room.bavail * room.bsize })
  }
}

/** The newest of the files that a start would run, as far as they are given by their whole path. */
const programOf = (entry: ServiceSpec["entry"]): Facts["program"] => {
  const named =
    "command" in entry
      ? [entry.command, ...entry.args].filter((one) => path.isAbsolute(one))
      : entry.protocol === "file:"
        ? [url.fileURLToPath(entry)]
        : []
  const seen = named.map((file) => ({ file, modifiedAt: attempt(() => fs.statSync(file).mtimeMs) }))
  const missing = seen.find(({ modifiedAt }) => modifiedAt === undefined)
  if (missing !== undefined) return { file: missing.file }
  const [newest] = seen.toSorted((one, other) => other.modifiedAt! - one.modifiedAt!)
  return newest === undefined ? undefined : { file: newest.file, modifiedAt: newest.modifiedAt! }
}

/** What a service never gets, though many programs heed it. */
const withheld = /^(NODE_OPTIONS|BUN_OPTIONS|https?_proxy|all_proxy|no_proxy|NODE_EXTRA_CA_CERTS)$/i

const environmentOf = (spec: ServiceSpec): Environment => {
  const { app, channel, profile } = validate(spec)
  const name = stateDirVariable(app)
  const given = new Set(spec.environment ?? [])
  return {
    home: process.env["HOME"],
    recordedHome: homeOfUser(),
    stateDir: { name, value: spec.directory === undefined ? process.env[name] : undefined },
    channel,
    profile,
    kept: Object.keys(process.env).filter((variable) => withheld.test(variable) && !given.has(variable))
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
