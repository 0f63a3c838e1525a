/**
 * Names of all that Holdfast counts and traces, in one place. Nothing is exported by itself: add Effect's OTLP or
 * Prometheus layer, as docs/telemetry.md shows.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

const counter = (name: string, description: string) => Metric.counter(name, { description, incremental: true })

/**
 * The metrics. Counters count since the process began; durations are in milliseconds.
 *
 * **Details**
 *
 * - `elections`: this process became the owner.
 * - `renewals`: the lease was renewed; attribute `outcome`: `renewed`, `later` (it could not be written now), `lost`.
 * - `supersessions`: another owner was crowned.
 * - `boots`: the application's boot ended; attribute `outcome`: `ready`, `failed`.
 * - `bootDuration`: from the import of the application until it is ready.
 * - `stops`: a stop was performed; attribute `outcome`: `drained`, or `cut` when requests in flight were, at the deadline.
 * - `stopDuration`: from the stop's beginning until nothing was in flight any more.
 *
 * **When to use** To read one in a program of your own. An exporter finds them by itself.
 *
 * **Example**
 *
 * ```ts
 * import { metrics } from "@holdfast/lock/Telemetry"
 * import * as Effect from "effect/Effect"
 * import * as Metric from "effect/Metric"
 *
 * console.log((await Effect.runPromise(Metric.value(metrics.supersessions))).count) // => 0
 * ```
 *
 * @category metrics
 * @since 0.1.0
 */
export const metrics = {
  elections: counter("holdfast_elections", "This process became the owner."),
  renewals: counter("holdfast_renewals", "Renewals of the lease."),
  supersessions: counter("holdfast_supersessions", "Another owner was crowned."),
  boots: counter("holdfast_boots", "Boots of the application that ended."),
  bootDuration: Metric.timer("holdfast_boot_duration", { description: "From import until ready." }),
  stops: counter("holdfast_stops", "Stops of the service."),
  stopDuration: Metric.timer("holdfast_stop_duration", {
    description: "From the stop until nothing was in flight."
  })
} as const

/**
 * Names of the spans, which carry `app`, `version`, `instance` and `epoch`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const spans = { boot: "holdfast.boot", stop: "holdfast.stop" } as const

type Counted = "elections" | "renewals" | "supersessions" | "boots" | "stops"

/** @internal */
export const count = (name: Counted, outcome?: string): Effect.Effect<void> =>
  Metric.update(outcome === undefined ? metrics[name] : Metric.withAttributes(metrics[name], { outcome }), 1)
