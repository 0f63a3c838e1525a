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
 * @category models
 * @since 0.1.0
 */
export type ClientStatus = typeof ClientStatus.Type

/**
 * The line that `service status --json` prints.
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
