/**
 * The first, plain part of owning: note, secret, shell, registration. In that order, so that whoever finds the
 * registration can already prove itself to a bound service.
 */
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

/** DESIGN §7: work in flight gets this long at a stop. */
export const drainMs = 1000

export interface Owner {
  readonly spec: ServiceSpec
  readonly paths: ServicePaths
  readonly shell: LifecycleShell.LifecycleShell
  readonly registration: Registration
  readonly token: string
  /** Heals what says that we own; answers what it had to. Throws the system's error. */
  readonly reassert: () => ReadonlyArray<"registration" | "secret" | "owner note">
  /** Unbinds. `remove`: takes away the registration, as far as it is still ours; a superseded owner removes nothing. */
  readonly leave: (options: { readonly remove: boolean }) => Promise<void>
}

export type Unusable = Extract<StartupOutcome, { readonly type: "unusable" }>

export const open = async (
  owning: record.Owning,
  options: { readonly spec: ServiceSpec; readonly paths: ServicePaths }
): Promise<Owner | Unusable> => {
  const { paths, spec } = options
  const { instanceID } = owning
  let shell: LifecycleShell.LifecycleShell | undefined
  try {
    OwnerNote.write(paths.owner, { instanceID, lock: paths.lock })
    const established = Credential.establish(paths.secret)
    if (established._tag === "Rejected") return { type: "unusable", kind: "credential", ...established.problem }
    const token = Credential.random()
    step("before-bind")
    const bound = await bindShell({ spec, instanceID, secret: established.secret, token })
    if ("type" in bound) return bound
    shell = bound
    step("after-bind")
    const registration: Registration = {
      schema: 1,
      instanceID,
      version: spec.version,
      url: shell.url,
      pid: process.pid
    }
    step("before-register")
    record.write(owning, paths.registration, registration)
    step("after-register")
    return {
      spec,
      paths,
      shell,
      registration,
      token,
      reassert: () => [
        ...(OwnerNote.reassert(paths.owner, { instanceID, lock: paths.lock }) ? (["owner note"] as const) : []),
        ...(Credential.reassert(paths.secret, established.secret) ? (["secret"] as const) : []),
        ...(record.reassert(owning, paths.registration, registration) ? (["registration"] as const) : [])
      ],
      leave: async ({ remove }) => {
        if (remove) record.removeOwn(owning, paths.registration, instanceID)
        await bound.close()
      }
    }
  } catch (error) {
    await shell?.close()
    return { type: "unusable", kind: "directory", ...problem("write to the state directory", paths.directory, error) }
  }
}

const bindShell = async (options: {
  readonly spec: ServiceSpec
  readonly instanceID: string
  readonly secret: Credential.Secret
  readonly token: string
}): Promise<LifecycleShell.LifecycleShell | Unusable> => {
  const port = options.spec.listen?.port ?? 0
  try {
    return await LifecycleShell.open({ ...options, version: options.spec.version, port, drainMs })
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const path = `127.0.0.1:${port}`
    return code === "EADDRINUSE"
      ? {
          type: "unusable",
          kind: "port",
          path,
          message: `Port ${port} is in use by another program.`,
          action: "Stop that program, or choose another port."
        }
      : {
          type: "unusable",
          kind: "port",
          path,
          message: `Cannot listen on port ${port}: ${code}.`,
          action: "Choose another port."
        }
  }
}

/** A failed boot without words of its own: a sentence that gives nothing away and says where to look. */
export const couldNotStart = (spec: ServiceSpec): { readonly message: string; readonly action: string } => ({
  message: `${titleOf(spec)} could not start.`,
  action: `Run \`${spec.app} service logs\`.`
})
