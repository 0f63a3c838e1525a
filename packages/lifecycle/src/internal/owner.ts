/**
 * The first, plain part of owning: note, secret, shell, registration. In that order, so that whoever finds the
 * registration can already prove itself to a bound service.
 */
import * as files from "@holdfast/lock/files"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import { problem } from "@holdfast/lock/Problem"
import { step } from "@holdfast/lock/step"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Credential from "../Credential.ts"
import * as LifecycleShell from "../LifecycleShell.ts"
import type { Registration } from "../Registration.ts"
import { type ServiceSpec, titleOf } from "../ServiceSpec.ts"
import type { StartupOutcome } from "../StartupOutcome.ts"
import * as record from "./registration.ts"
import { placeSocket, sweepSockets } from "./socketFile.ts"

/** DESIGN §7: work in flight gets this long at a stop. */
export const drainMs = 1000

export interface Owner {
  readonly spec: ServiceSpec
  readonly paths: ServicePaths
  readonly shell: LifecycleShell.LifecycleShell
  readonly registration: Registration
  readonly token: string
  /** Heals what says that we own; answers what it had to. Throws the system's error. */
  readonly reassert: () => ReadonlyArray<"registration" | "secret" | "owner note" | "socket">
  /** Writes into the note when the boot failed, for launches that ask how long ago. Throws the system's error. */
  readonly noteFailure: () => void
  /** Unbinds. `remove`: takes away the registration, as far as it is still ours; a superseded owner removes nothing. */
  readonly leave: (options: { readonly remove: boolean }) => Promise<void>
}

export type Unusable = Extract<StartupOutcome, { readonly type: "unusable" }>

export const open = async (
  owning: record.Owning,
  options: { readonly spec: ServiceSpec; readonly paths: ServicePaths }
): Promise<Owner | Unusable> => {
  const { paths } = options
  let shell: LifecycleShell.LifecycleShell | undefined
  try {
    for (const file of [paths.owner, paths.secret, paths.registration, paths.continuity]) files.sweep(file)
    await sweepSockets(paths)
    OwnerNote.write(paths.owner, { instanceID: owning.instanceID, lock: paths.lock })
    const opened = await bindAndRegister(owning, options, (bound) => (shell = bound))
    if ("type" in opened) OwnerNote.removeOwn(paths.owner, owning.instanceID)
    return opened
  } catch (error) {
    await shell?.close()
    OwnerNote.removeOwn(paths.owner, owning.instanceID)
    const { dest, path } = error as NodeJS.ErrnoException & { readonly dest?: string }
    return { type: "unusable", kind: "directory", ...problem("write", dest ?? path ?? paths.directory, error) }
  }
}

const bindAndRegister = async (
  owning: record.Owning,
  options: { readonly spec: ServiceSpec; readonly paths: ServicePaths },
  onBound: (shell: LifecycleShell.LifecycleShell) => void
): Promise<Owner | Unusable> => {
  const { paths, spec } = options
  const { instanceID } = owning
  const established = Credential.establish(paths.secret)
  if (established._tag === "Rejected") return { type: "unusable", kind: "credential", ...established.problem }
  const token = Credential.random()
  step("before-bind")
  const shell = await bindShell({ spec, paths, instanceID, secret: established.secret, token })
  if ("type" in shell) return shell
  onBound(shell)
  step("after-bind")
  const registration: Registration = { schema: 1, instanceID, version: spec.version, url: shell.url, pid: process.pid }
  step("before-register")
  record.write(owning, paths.registration, registration)
  step("after-register")
  let note: OwnerNote.NoteOptions = { instanceID, lock: paths.lock, startedAt: Date.now() }
  return {
    spec,
    paths,
    shell,
    registration,
    token,
    reassert: () => [
      ...(shell.reassert() ? (["socket"] as const) : []),
      ...(OwnerNote.reassert(paths.owner, note) ? (["owner note"] as const) : []),
      ...(Credential.reassert(paths.secret, established.secret) ? (["secret"] as const) : []),
      ...(record.reassert(owning, paths.registration, registration) ? (["registration"] as const) : [])
    ],
    noteFailure: () => {
      note = { ...note, failedAt: Date.now() }
      OwnerNote.write(paths.owner, note)
    },
    leave: async ({ remove }) => {
      if (remove) {
        record.removeOwn(owning, paths.registration, instanceID)
        files.rewrite(paths.budget, "") // it ends as it should: the next start is no failed one's successor
      }
      OwnerNote.removeOwn(paths.owner, instanceID)
      await shell.close() // after it: who read the registration just before is still refused in words
    }
  }
}

/** The port a spec asks for; 0 where the system chooses, or where it is none. */
export const portOf = ({ listen }: ServiceSpec): number => (listen !== undefined && "port" in listen ? listen.port : 0)

const bindShell = async (options: {
  readonly spec: ServiceSpec
  readonly paths: ServicePaths
  readonly instanceID: string
  readonly secret: Credential.Secret
  readonly token: string
}): Promise<LifecycleShell.LifecycleShell | Unusable> => {
  const { instanceID, paths, spec } = options
  const port = portOf(spec)
  const socketPath = spec.listen !== undefined && "socket" in spec.listen ? placeSocket(paths, instanceID) : undefined
  if (typeof socketPath === "object") return { type: "unusable", kind: "directory", ...socketPath }
  try {
    const at = socketPath === undefined ? { port } : { socketPath }
    return await LifecycleShell.open({ ...options, ...at, version: spec.version, drainMs })
  } catch (error) {
    if (socketPath !== undefined) throw Object.assign(error as Error, { path: socketPath })
    const code = (error as NodeJS.ErrnoException).code
    const path = `127.0.0.1:${port}`
    const [message, action] =
      code === "EADDRINUSE"
        ? [`Port ${port} is in use by another program.`, "Stop that program, or choose another port."]
        : code === "ENETDOWN"
          ? ["There is no loopback network here, so nobody could reach the service.", "Start it outside this sandbox."]
          : [`Cannot listen on port ${port}: ${code}.`, "Choose another port."]
    return { type: "unusable", kind: "port", path, message, action }
  }
}

/** A failed boot without words of its own: a sentence that gives nothing away and says where to look. */
export const couldNotStart = (spec: ServiceSpec): { readonly message: string; readonly action: string } => ({
  message: `${titleOf(spec)} could not start.`,
  action: `Run \`${spec.app} service logs\`.`
})
