/**
 * What a client knows of a service.
 *
 * @since 0.1.0
 */
import { Registration } from "@holdfast/lifecycle/Registration"
import { ServiceHealth } from "@holdfast/lifecycle/ServiceHealth"
import { ServiceStatus } from "@holdfast/lifecycle/ServiceStatus"
import * as Schema from "effect/Schema"

/**
 * `missing`: nobody is registered. `unreachable`: somebody is, and did not prove itself now. `unresponsive`: the owner
 * lives and has not answered five times over ten seconds; only a following client can say so. The rest is the
 * service's own word. `protocol: "other"`: the registered owner lives and answers, in words of another version than
 * this program's.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ClientStatus = Schema.Union([
  Schema.Struct({ type: Schema.Literals(["missing", "unresponsive"]) }),
  Schema.Struct({ type: Schema.Literal("unreachable"), protocol: Schema.optionalKey(Schema.Literal("other")) }),
  ServiceStatus
])

/**
 * What the schema decodes to.
 *
 * @category models
 * @since 0.1.0
 */
export type ClientStatus = typeof ClientStatus.Type

/**
 * The line that `service status --json` prints.
 *
 * **Details** `registration` and `health` are `null` where none was found or nobody answered.
 *
 * **Example**
 *
 * ```ts
 * import { ServiceState } from "@holdfast/client/ServiceState"
 * import * as Schema from "effect/Schema"
 *
 * const line = `{"status":{"type":"missing"},"registration":null,"health":null}`
 * console.log(Schema.decodeUnknownSync(Schema.fromJsonString(ServiceState))(line).status) // => { type: "missing" }
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const ServiceState = Schema.Struct({
  status: ClientStatus,
  registration: Schema.NullOr(Registration),
  health: Schema.NullOr(ServiceHealth)
})

/**
 * What the schema decodes to.
 *
 * @category models
 * @since 0.1.0
 */
export type ServiceState = typeof ServiceState.Type

/**
 * Before anything was looked at.
 *
 * @category constructors
 * @since 0.1.0
 */
export const missing: ServiceState = { status: { type: "missing" }, registration: null, health: null }
