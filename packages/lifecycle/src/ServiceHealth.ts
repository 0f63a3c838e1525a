/**
 * The answer of `GET /service/health`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ServiceStatus } from "./ServiceStatus.ts"

/**
 * `healthy: true` means that the lifecycle shell answers as `instanceID`; whether the application does is in `status`.
 *
 * **Example**
 *
 * ```ts
 * import { ServiceHealth } from "@holdfast/lifecycle/ServiceHealth"
 * import * as Schema from "effect/Schema"
 *
 * const isHealth = Schema.is(ServiceHealth)
 * console.log(isHealth({ healthy: true, version: "1.0.0", pid: 17, instanceID: "4b1f9c2e", status: { type: "ready" } }))
 * // => true
 * ```
 *
 * Source: service-lifecycle.md "Service Status".
 *
 * @category schemas
 * @since 0.1.0
 */
export const ServiceHealth = Schema.Struct({
  healthy: Schema.Literal(true),
  version: Schema.String,
  pid: Schema.Int,
  instanceID: Schema.String,
  status: ServiceStatus
})

/**
 * What the schema decodes to.
 *
 * @category models
 * @since 0.1.0
 */
export type ServiceHealth = typeof ServiceHealth.Type
