/**
 * The discovery record: where the owner can be reached. It never grants ownership.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Exactly the five fields of service-lifecycle.md. `url` is `http://127.0.0.1:<port>` or `unix:<path>`.
 *
 * **Gotchas** It is a hint: whoever is named there is asked to prove itself before anything is said to it (`Credential`).
 *
 * **Example**
 *
 * ```ts
 * import { Registration } from "@holdfast/lifecycle/Registration"
 * import * as Schema from "effect/Schema"
 *
 * const text = `{"schema":1,"instanceID":"4b1f9c2e","version":"1.0.0","url":"http://127.0.0.1:4711","pid":17}`
 * console.log(Schema.decodeUnknownSync(Schema.fromJsonString(Registration))(text).pid) // => 17
 * ```
 *
 * Source: service-lifecycle.md "Registration Contract".
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
 * What the schema decodes to.
 *
 * @category models
 * @since 0.1.0
 */
export type Registration = typeof Registration.Type
