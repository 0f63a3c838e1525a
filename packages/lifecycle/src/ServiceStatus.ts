/**
 * What a service says of itself.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * One small value: `starting` (with what it is doing), `ready`, `stopping` (for which version), or `failed` with the
 * application's own words and what to do. Shape from service-lifecycle.md, plus `progress`.
 *
 * **Gotchas** `failed` is a boot that failed; the process is alive and holds the lock. A failure after `ready` ends
 * the process instead.
 *
 * **Example**
 *
 * ```ts
 * import type { ServiceStatus } from "@holdfast/lifecycle/ServiceStatus"
 *
 * export const mark = (status: ServiceStatus): string => {
 *   switch (status.type) {
 *     case "starting":
 *       return status.progress ?? "…"
 *     case "ready":
 *       return "✓"
 *     case "stopping":
 *       return status.targetVersion === undefined ? "stopping" : `→ ${status.targetVersion}`
 *     case "failed":
 *       return `${status.message} ${status.action}`
 *   }
 * }
 * ```
 *
 * Source: service-lifecycle.md "Service Status".
 *
 * @category schemas
 * @since 0.1.0
 */
export const ServiceStatus = Schema.Union([
  Schema.Struct({ type: Schema.Literal("starting"), progress: Schema.optionalKey(Schema.String) }),
  Schema.Struct({ type: Schema.Literal("ready") }),
  Schema.Struct({ type: Schema.Literal("stopping"), targetVersion: Schema.optionalKey(Schema.String) }),
  Schema.Struct({ type: Schema.Literal("failed"), message: Schema.String, action: Schema.String })
])

/**
 * What the schema decodes to.
 *
 * @category models
 * @since 0.1.0
 */
export type ServiceStatus = typeof ServiceStatus.Type
