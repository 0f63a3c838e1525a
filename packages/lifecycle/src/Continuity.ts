/**
 * What an owner that stops gracefully leaves to its successor.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/**
 * What `Application.withContinuity` is given.
 *
 * **Details**
 *
 * - `snapshot` is asked at a graceful stop of a service that was ready: after the requests in flight, before the
 *   application closes, and within the drain deadline. One that hangs, dies or cannot be encoded costs the snapshot,
 *   never the stop; the log says so.
 * - `resume` is run with it by the next owner, as part of the boot: after the layers are built, before `ready`. What
 *   takes long is forked there, not awaited.
 * - `schema` is how it is kept, as JSON of at most 1 MiB, mode 0600, in the state directory; with the owner's epoch. A
 *   later version of the application may read it, so change the schema so that it still decodes.
 *
 * A snapshot is removed after `ready`. It is offered at most twice: a successor that crashes in `resume` does not do so
 * for ever. One that cannot be used (it does not decode, is damaged or too large, was offered twice, is not older than
 * this owner, or `resume` died) is named in the log and kept beside as `….set-aside`, the latest only; the service
 * starts without it. A crash leaves none, and so does an owner that was superseded or stopped before `ready`.
 *
 * **Gotchas** It is a hint about work that was under way, not a store: what must not be lost belongs into a database.
 *
 * **Example**
 *
 * ```ts
 * import type { Continuity } from "@holdfast/lifecycle/Continuity"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const open = new Set<string>()
 *
 * export const sessions: Continuity<ReadonlyArray<string>> = {
 *   schema: Schema.Array(Schema.String),
 *   snapshot: Effect.sync(() => [...open]),
 *   resume: (ids) => Effect.sync(() => ids.forEach((id) => open.add(id)))
 * }
 * ```
 *
 * Source: service-lifecycle.md "Graceful Session Continuity".
 *
 * @category models
 * @since 0.1.0
 */
export interface Continuity<A, I = A, R = never> {
  readonly schema: Schema.Codec<A, I>
  readonly snapshot: Effect.Effect<NoInfer<A>, never, R>
  readonly resume: (value: NoInfer<A>) => Effect.Effect<void, never, R>
}
