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
 * @category models
 * @since 0.1.0
 */
export type ServiceHealth = typeof ServiceHealth.Type
