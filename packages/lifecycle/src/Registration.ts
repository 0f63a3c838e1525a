/**
 * The discovery record: where the owner can be reached. It never grants ownership.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Exactly the five fields of service-lifecycle.md. `url` is `http://127.0.0.1:<port>` or `unix:<path>`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Registration = Schema.Struct({
  schema: Schema.Literal(1),
  instanceID: Schema.NonEmptyString,
  version: Schema.String,
  url: Schema.NonEmptyString,
  pid: Schema.Int
})

/**
 * @category models
 * @since 0.1.0
 */
export type Registration = typeof Registration.Type
