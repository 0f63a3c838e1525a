/**
 * A test clock for machines that sleep: `TestClock` moves both clocks together, a real suspend does not.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * What only the wall clock does.
 *
 * **Details** `suspend(d)`: the wall clock is `d` further, the monotonic clock and every timer stand where they stood, as
 * after a suspend; a negative duration is a clock that was set back. Timers go on with `TestClock.adjust`.
 *
 * **When to use** For what an application does when the machine wakes up, without a machine that sleeps.
 *
 * **Example**
 *
 * ```ts
 * import { SuspendClock } from "@holdfast/testkit/SuspendClock"
 * import * as Wake from "@holdfast/lock/Wake"
 * import * as Effect from "effect/Effect"
 *
 * export const asleep = Effect.gen(function*() {
 *   const clock = yield* SuspendClock
 *   const before = yield* Wake.read
 *   yield* clock.suspend("8 hours")
 *   return Wake.between(before, yield* Wake.read)
 * }).pipe(Effect.provide(SuspendClock.layer))
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class SuspendClock extends Context.Service<
  SuspendClock,
  { readonly suspend: (duration: Duration.Input) => Effect.Effect<void> }
>()("@holdfast/testkit/SuspendClock") {
  /** Over the `TestClock` of `it.effect`, which keeps working. */
  static readonly layer: Layer.Layer<SuspendClock> = Layer.effectContext(
    Effect.gen(function* () {
      const base = yield* Clock.clockWith(Effect.succeed)
      let offsetMs = 0
      const wallMs = () => base.currentTimeMillisUnsafe() + offsetMs
      const wallNanos = () => base.currentTimeNanosUnsafe() + BigInt(Math.round(offsetMs)) * 1_000_000n
      const clock: Clock.Clock = Object.assign(Object.create(base) as Clock.Clock, {
        currentTimeMillisUnsafe: wallMs,
        currentTimeMillis: Effect.sync(wallMs),
        currentTimeNanosUnsafe: wallNanos,
        currentTimeNanos: Effect.sync(wallNanos)
      })
      const suspend = (duration: Duration.Input) =>
        Effect.sync(() => {
          offsetMs += Duration.toMillis(Duration.fromInputUnsafe(duration))
        })
      return Context.make(SuspendClock, { suspend }).pipe(Context.add(Clock.Clock, clock))
    })
  )
}
