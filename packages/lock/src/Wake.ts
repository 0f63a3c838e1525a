/**
 * Noticing that the machine slept or this process was frozen, and for how long.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/**
 * Time in which nothing of this process ran. `slept`: the machine was suspended, so timers stood still (they follow the
 * monotonic clock). `frozen`: this process alone was stopped, or its loop blocked. `ms` is how long, roughly.
 *
 * @category models
 * @since 0.1.0
 */
export interface Gap {
  readonly kind: "slept" | "frozen"
  readonly ms: number
}

/**
 * Both clocks at one moment, in milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reading {
  readonly wall: number
  readonly monotonic: number
}

/**
 * How often it is looked, in milliseconds.
 *
 * **Details** A gap is noticed when it is two seconds longer than that (DESIGN §7).
 *
 * @category models
 * @since 0.1.0
 */
export const tickMs = 1000

/** A busy machine is late by less, and a clock that is slewed drifts by less. */
const noticeable = 2000

/**
 * The pure part: what lies between two readings that should be one tick apart.
 *
 * **Details** A wall clock that was set back is no gap; one that was set forward looks like sleep, which costs a renewal
 * and nothing else.
 *
 * **When to use** With readings of your own; `gaps` reads once a second.
 *
 * **Example**
 *
 * ```ts
 * import * as Wake from "@holdfast/lock/Wake"
 *
 * const before = { wall: 0, monotonic: 0 }
 * console.log(Wake.between(before, { wall: 3_601_000, monotonic: 1000 })) // => { kind: "slept", ms: 3600000 }
 * console.log(Wake.between(before, { wall: 61_000, monotonic: 61_000 })) // => { kind: "frozen", ms: 60000 }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const between = (before: Reading, after: Reading): Gap | undefined => {
  const ran = after.monotonic - before.monotonic
  const slept = after.wall - before.wall - ran
  if (slept >= noticeable) return { kind: "slept", ms: slept }
  const late = ran - tickMs
  return late >= noticeable ? { kind: "frozen", ms: late } : undefined
}

/**
 * Both clocks now.
 *
 * **Example**
 *
 * ```ts
 * import * as Wake from "@holdfast/lock/Wake"
 * import * as Effect from "effect/Effect"
 *
 * // How long it took by both clocks: they differ when the machine slept meanwhile.
 * export const timed = <A, E, R>(self: Effect.Effect<A, E, R>) =>
 *   Effect.gen(function*() {
 *     const before = yield* Wake.read
 *     const value = yield* self
 *     const after = yield* Wake.read
 *     return { value, wall: after.wall - before.wall, monotonic: after.monotonic - before.monotonic }
 *   })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const read: Effect.Effect<Reading> = Effect.gen(function* () {
  const monotonic = yield* Clock.monotonicTimeNanos
  return { wall: yield* Clock.currentTimeMillis, monotonic: Number(monotonic / 1_000n) / 1000 }
})

/**
 * Each gap, as soon as this process runs again.
 *
 * **When to use** To renew what expires, and to look anew at what may have changed, after a laptop was opened.
 *
 * **Gotchas** A virtual machine that is paused sees neither clock move, so nothing is noticed there.
 *
 * Source: wake-recovery-plan.md; DESIGN §3 "After a gap".
 *
 * **Example**
 *
 * ```ts
 * import * as Wake from "@holdfast/lock/Wake"
 * import * as Effect from "effect/Effect"
 * import * as Stream from "effect/Stream"
 *
 * export const watching = Wake.gaps.pipe(
 *   Stream.runForEach(({ kind, ms }) => Effect.logInfo(`${kind} for ${Math.round(ms / 1000)} s; looking again`))
 * )
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const gaps: Stream.Stream<Gap> = Stream.unwrap(
  Effect.map(read, (start) => {
    let before = start
    return Stream.fromEffectRepeat(
      Effect.gen(function* () {
        yield* Effect.sleep(tickMs)
        const after = yield* read
        const gap = between(before, after)
        before = after
        return gap
      })
    ).pipe(Stream.filter((gap) => gap !== undefined))
  })
)
