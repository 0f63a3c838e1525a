/**
 * What passes between a client and the contender it starts: the hand-over in the environment, and the outcome as lines
 * of JSON on the startup pipe.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import { adapt } from "./LegacyRegistration.ts"
import type { Registration } from "./Registration.ts"
import type { ServiceHealth } from "./ServiceHealth.ts"

/**
 * The environment variable that carries the hand-over.
 *
 * @category models
 * @since 0.1.0
 */
export const variable = "HOLDFAST_SERVICE"

/**
 * Which service the contender is for, as the client resolved it; it overrides what the daemon would compute. `pipe` is
 * the inherited descriptor of the startup pipe; `spawnLock` that of the lock which keeps other clients from starting
 * another contender, to be closed once this one is registered. `unasked`: the client that started it hears the pipe and asks
 * nothing before the service is ready. `foreground`: log to the terminal.
 *
 * @category models
 * @since 0.1.0
 */
export interface HandOver {
  readonly app: string
  readonly channel: string
  readonly profile: string
  readonly directory: string
  readonly pipe?: number
  readonly spawnLock?: number
  readonly unasked?: boolean
  readonly foreground?: boolean
}

/**
 * One line on the startup pipe. The last one is `ready`, `failed`, `held` or `unusable`.
 *
 * **Details** `starting` carries the session token, so that the client that spawned needs no handshake. `failed` is a
 * boot that failed in an owner that stays; `unusable` is a contender that could not own, with the thing to mend.
 *
 * @category models
 * @since 0.1.0
 */
export type StartupOutcome =
  | { readonly type: "starting"; readonly registration: Registration; readonly token: string }
  | { readonly type: "ready" }
  | { readonly type: "failed"; readonly message: string; readonly action: string }
  | { readonly type: "held"; readonly pid?: number }
  | {
      readonly type: "unusable"
      readonly kind: "directory" | "credential" | "lock" | "lease" | "port"
      readonly path: string
      readonly message: string
      readonly action: string
    }

const record = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined

const parse = (text: string): Record<string, unknown> | undefined => {
  try {
    return record(JSON.parse(text))
  } catch {
    return undefined
  }
}

const text = (value: unknown): value is string => typeof value === "string" && value !== ""

/**
 * The plain guard for the `Registration` schema, for before Effect is loaded; a contract test holds the two together.
 *
 * **When to use** On a value that was parsed already; `parseRegistration` takes the text, and older and later shapes.
 *
 * **Example**
 *
 * ```ts
 * import { registrationOf } from "@holdfast/lifecycle/StartupOutcome"
 *
 * console.log(registrationOf({ schema: 1, instanceID: "4b1f9c2e" })) // => undefined
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const registrationOf = (value: unknown): Registration | undefined => {
  const found = record(value)
  if (found === undefined) return undefined
  const { schema, instanceID, version, url, pid } = found
  return schema === 1 && text(instanceID) && typeof version === "string" && text(url) && Number.isSafeInteger(pid)
    ? { schema, instanceID, version, url, pid: pid as number }
    : undefined
}

/** One of a later schema, as far as it says what today's say; what it says beyond that is not for this program. */
const later = (value: Record<string, unknown> | undefined): Registration | undefined => {
  const schema = value?.["schema"]
  return Number.isSafeInteger(schema) && (schema as number) > 1 ? registrationOf({ ...value, schema: 1 }) : undefined
}

/**
 * Decodes a registration file's text; a legacy one is adapted (`LegacyRegistration`), one of a later schema read as far
 * as it goes; `undefined` for garbage and for other shapes.
 *
 * **When to use** On the text of a registration file, whoever wrote it.
 *
 * **Example**
 *
 * ```ts
 * import { parseRegistration } from "@holdfast/lifecycle/StartupOutcome"
 * import * as files from "@holdfast/lock/files"
 * import type { ServicePaths } from "@holdfast/lock/ServicePaths"
 *
 * export const registeredAt = ({ registration }: ServicePaths): string | undefined => {
 *   const reading = files.read(registration)
 *   return reading._tag === "Text" ? parseRegistration(reading.text)?.url : undefined
 * }
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const parseRegistration = (json: string): Registration | undefined => {
  const found = parse(json)
  return registrationOf(found) ?? later(found) ?? adapt(found)
}

/**
 * The plain guard for the `ServiceHealth` schema.
 *
 * **Details** A field more than today's is no harm and is left out.
 *
 * **Example**
 *
 * ```ts
 * import { healthOf } from "@holdfast/lifecycle/StartupOutcome"
 *
 * const answer = { healthy: true, version: "2.0.0", pid: 17, instanceID: "4b1f9c2e", status: { type: "ready", load: 0.5 } }
 * console.log(healthOf(answer)?.status) // => { type: "ready" }
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const healthOf = (value: unknown): ServiceHealth | undefined => {
  const found = record(value)
  if (found === undefined) return undefined
  const { healthy, version, pid, instanceID } = found
  const status = record(found["status"])
  if (healthy !== true || typeof version !== "string" || !Number.isSafeInteger(pid) || typeof instanceID !== "string")
    return undefined
  const known = status === undefined ? undefined : statusOf(status)
  return known === undefined ? undefined : { healthy, version, pid: pid as number, instanceID, status: known }
}

const optional = (field: unknown): field is string | undefined => field === undefined || typeof field === "string"

const statusOf = (status: Record<string, unknown>): ServiceHealth["status"] | undefined => {
  const { action, message, progress, targetVersion, type } = status
  switch (type) {
    case "ready":
      return { type }
    case "starting":
      if (!optional(progress) || (progress === undefined && "progress" in status)) return undefined
      return progress === undefined ? { type } : { type, progress }
    case "stopping":
      if (!optional(targetVersion) || (targetVersion === undefined && "targetVersion" in status)) return undefined
      return targetVersion === undefined ? { type } : { type, targetVersion }
    case "failed":
      return typeof message === "string" && typeof action === "string" ? { type, message, action } : undefined
    default:
      return undefined
  }
}

const kinds = ["directory", "credential", "lock", "lease", "port"] as const

/**
 * Decodes one line of the pipe; `undefined` for anything else that a program may print there.
 *
 * **When to use** On each line that a contender writes to its startup pipe.
 *
 * **Example**
 *
 * ```ts
 * import { parseOutcome } from "@holdfast/lifecycle/StartupOutcome"
 *
 * console.log(parseOutcome(`{"type":"held","pid":17}`)) // => { type: "held", pid: 17 }
 * console.log(parseOutcome("listening on port 80")) // => undefined
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const parseOutcome = (line: string): StartupOutcome | undefined => {
  const found = parse(line)
  switch (found?.["type"]) {
    case "starting": {
      const registration = registrationOf(found["registration"]) ?? later(record(found["registration"]))
      return registration !== undefined && text(found["token"])
        ? { type: "starting", registration, token: found["token"] }
        : undefined
    }
    case "ready":
      return { type: "ready" }
    case "failed":
      return typeof found["message"] === "string" && typeof found["action"] === "string"
        ? { type: "failed", message: found["message"], action: found["action"] }
        : undefined
    case "held":
      return Number.isSafeInteger(found["pid"]) ? { type: "held", pid: found["pid"] as number } : { type: "held" }
    case "unusable": {
      const { action, message, path } = found
      const kind = kinds.find((known) => known === found["kind"])
      return kind !== undefined && typeof path === "string" && typeof message === "string" && typeof action === "string"
        ? { type: "unusable", kind, path, message, action }
        : undefined
    }
    default:
      return undefined
  }
}

/**
 * Decodes the hand-over; `undefined` when the variable is not set. Throws a sentence when it is set and no hand-over.
 *
 * **When to use** In a daemon that does without `runDaemon`; then remove the variable, so that what the service starts does
 * not take itself for it.
 *
 * **Example**
 *
 * ```ts
 * import { parseHandOver, variable } from "@holdfast/lifecycle/StartupOutcome"
 *
 * export const directory = (): string | undefined => {
 *   const handOver = parseHandOver(process.env[variable])
 *   delete process.env[variable]
 *   return handOver?.directory
 * }
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const parseHandOver = (value: string | undefined): HandOver | undefined => {
  if (value === undefined || value === "") return undefined
  const found = parse(value)
  const named = ["app", "channel", "profile", "directory"].every((key) => text(found?.[key]))
  const { foreground, pipe, spawnLock, unasked } = found ?? {}
  const descriptors = [pipe, spawnLock].every(
    (one) => one === undefined || (Number.isSafeInteger(one) && Number(one) >= 0)
  )
  const switches = [foreground, unasked].every((one) => one === undefined || typeof one === "boolean")
  if (found === undefined || !named || !descriptors || !switches) {
    throw new Error(`${variable} is not a hand-over. Unset it: clients set it for the services they start.`)
  }
  return found as unknown as HandOver
}
