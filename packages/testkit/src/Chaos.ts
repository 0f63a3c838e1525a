/**
 * Faults drawn at random against a swarm and its clients, while the laws are checked throughout.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { draw, type Planned } from "./internal/chaosPlan.ts"
import { run } from "./internal/chaosRun.ts"
import { Testkit } from "./Testkit.ts"
import type { LawBroken } from "./WaitedTooLong.ts"

export type { Move, Planned } from "./internal/chaosPlan.ts"

/**
 * `seed`: the same one draws the same plan. `minutes`: how long faults are made; it takes up to a minute more until all is
 * quiet again. `clients`: how many follow the service meanwhile; 4 without it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ChaosOptions {
  readonly seed: number | string
  readonly minutes: number
  readonly clients?: number
}

/**
 * What a seed draws: each move with its time, in milliseconds from the beginning.
 *
 * **Details** A longer run with the same seed begins with the same moves.
 *
 * **When to use** To see what a seed will do before it does, and to compare two seeds.
 *
 * **Example**
 *
 * ```ts
 * import { plan } from "@holdfast/testkit/Chaos"
 * import * as Effect from "effect/Effect"
 *
 * const [one, two] = await Effect.runPromise(Effect.all([plan({ seed: 1, minutes: 1 }), plan({ seed: 1, minutes: 2 })]))
 * console.log(JSON.stringify(two).startsWith(JSON.stringify(one).slice(0, -1))) // => true
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const plan = (options: Pick<ChaosOptions, "minutes" | "seed">): Effect.Effect<ReadonlyArray<Planned>> =>
  draw(options.seed, options.minutes * 60_000)

/**
 * Draws a plan and plays it: contenders come, owners are killed, frozen, stopped, restarted and crash at each step, files
 * go or are garbled, clocks jump, strangers take ports.
 *
 * **Details** Checked throughout: no two processes run the application (law 1), accepted epochs never decrease (2), losers
 * stay light and leave (3), no owner ends that nobody told to (4), no client ends (9). At the end all clients are attached
 * to one instance, and nobody but its owner is left (8). What is broken is told with its number, the seed, the moves until
 * then and the timeline.
 *
 * **Gotchas** The seed fixes the plan, not what the system makes of it: the same plan may break a law in one run of ten. The
 * lock and the lease are never both deleted within ten seconds, since law 1 allows two owners then.
 *
 * **When to use** To look for what no written test brings together: minutes in a test, hours on a machine of its own.
 *
 * **Example**
 *
 * ```ts
 * import { define } from "@holdfast/lifecycle/ServiceSpec"
 * import { chaos } from "@holdfast/testkit/Chaos"
 * import { Testkit } from "@holdfast/testkit/Testkit"
 * import * as Effect from "effect/Effect"
 *
 * const hello = define({ app: "hello", version: "1.0.0", entry: new URL("../src/daemon.ts", import.meta.url) })
 *
 * export const anHour = chaos({ seed: 1, minutes: 60 }).pipe(Effect.provide(Testkit.layer(hello)))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const chaos = (options: ChaosOptions): Effect.Effect<void, LawBroken, Testkit> =>
  Effect.gen(function* () {
    const kit = yield* Testkit
    return yield* run(kit, { clients: 4, ...options, plan: yield* plan(options) })
  })
