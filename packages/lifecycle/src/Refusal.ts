/**
 * Why the lifecycle shell did not do what was asked.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * The closed list of reasons. The three `service_…` codes answer application requests while there is no application.
 *
 * **Example**
 *
 * ```ts
 * import { RefusalCode, statusOf } from "@holdfast/lifecycle/Refusal"
 *
 * console.log(RefusalCode.literals.filter((code) => statusOf[code] === 503))
 * // => ["service_starting", "service_stopping", "service_failed"]
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const RefusalCode = Schema.Literals([
  "service_starting",
  "service_stopping",
  "service_failed",
  "unauthenticated",
  "other_instance",
  "foreign_host",
  "browser_origin",
  "bad_request",
  "too_large",
  "not_found",
  "method_not_allowed"
])

/**
 * What the schema decodes to.
 *
 * @category models
 * @since 0.1.0
 */
export type RefusalCode = typeof RefusalCode.Type

/**
 * The body of every refusal; `message` and `action` are for people and carry no stack and no secret.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Refusal = Schema.Struct({
  code: RefusalCode,
  message: Schema.String,
  action: Schema.optionalKey(Schema.String)
})

/**
 * What the schema decodes to.
 *
 * @category models
 * @since 0.1.0
 */
export type Refusal = typeof Refusal.Type

export { refusalHeader, statuses as statusOf } from "./internal/reply.ts"
