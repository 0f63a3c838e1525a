/**
 * Registrations from before Holdfast: told from ours, and moved to where ours are.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import * as files from "@holdfast/lock/files"
import type { Registration } from "./Registration.ts"

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** An optional text: absent is fine, another type is another shape. */
const textOr = (value: unknown, otherwise: string): string | undefined =>
  value === undefined ? otherwise : typeof value === "string" && value !== "" ? value : undefined

/**
 * The shape `{ id?, version?, url, pid, password? }` as a `Registration`; `undefined` for anything else.
 *
 * **Details** What it does not say becomes words that say so: the instance `legacy-<pid>`, the version `unknown`. Its
 * password is not carried over: such a service is shown, and never proved.
 *
 * Source: service-lifecycle.md "Registration Contract".
 *
 * **When to use** On a record of unknown age. `StartupOutcome.parseRegistration` does it by itself.
 *
 * **Example**
 *
 * ```ts
 * import { adapt } from "@holdfast/lifecycle/LegacyRegistration"
 *
 * console.log(adapt({ url: "http://127.0.0.1:4711", pid: 17, password: "never carried over" }))
 * // => { schema: 1, instanceID: "legacy-17", version: "unknown", url: "http://127.0.0.1:4711", pid: 17 }
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const adapt = (value: unknown): Registration | undefined => {
  if (!isRecord(value) || "schema" in value || "instanceID" in value) return undefined
  const { pid, url } = value
  if (typeof url !== "string" || url === "" || !Number.isSafeInteger(pid) || (pid as number) <= 0) return undefined
  const instanceID = textOr(value["id"], `legacy-${String(pid)}`)
  const version = textOr(value["version"], "unknown")
  return instanceID === undefined || version === undefined
    ? undefined
    : { schema: 1, instanceID, version, url, pid: pid as number }
}

/**
 * Moves a legacy record from where an application kept it to `to`, in today's shape, unless a registration is already
 * there: then that one stays as it is. The old file goes once a record is at `to`.
 *
 * **When to use** Once, by an application that used to keep its record elsewhere, before its first client looks.
 *
 * **Details** `Moved`; `Kept`: one was there; `Nothing`: no legacy record at `from`, which is left alone. Throws the
 * system's error. Several processes may do it at once: one moves, the others find it there.
 *
 * **Example**
 *
 * ```ts
 * import { migrate } from "@holdfast/lifecycle/LegacyRegistration"
 * import { paths } from "@holdfast/lock/ServicePaths"
 * import { prepare } from "@holdfast/lock/StateDirectory"
 *
 * export const moveOnce = (old: string): void => {
 *   const { directory, registration } = paths({ app: "hello" })
 *   if (prepare(directory) === undefined && migrate(old, registration) === "Moved") console.warn(`moved ${old}`)
 * }
 * ```
 *
 * Source: service-lifecycle.md "Registration Contract".
 *
 * @category combinators
 * @since 0.1.0
 */
export const migrate = (from: string, to: string): "Moved" | "Kept" | "Nothing" => {
  const reading = files.read(from)
  if (reading._tag !== "Text") return "Nothing"
  const found = parse(reading.text)
  if (found === undefined) return "Nothing"
  const created = files.create(to, `${JSON.stringify(found)}\n`)
  files.remove(from)
  return created ? "Moved" : "Kept"
}

const parse = (text: string): Registration | undefined => {
  try {
    return adapt(JSON.parse(text))
  } catch {
    return undefined
  }
}
