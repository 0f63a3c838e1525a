/**
 * The failures that Holdfast exists for, as scenarios that run against any service: each is a test, and a timeline.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import { crashes } from "./internal/crashScenarios.ts"
import { sleeps } from "./internal/sleepScenarios.ts"
import { updates } from "./internal/updateScenario.ts"
import type { Testkit } from "./Testkit.ts"
import type { ScenarioFailed } from "./WaitedTooLong.ts"

/**
 * A scenario: `run` plays it with real processes and fails when it ends otherwise than `sentence` says. It takes less than
 * `timeoutMs`. `source` is the section of the design that tells the story.
 *
 * **Details** `needs`: what it cannot do without: `next`, the option of `Testkit.layer` with the service's next version.
 *
 * @category models
 * @since 0.1.0
 */
export interface Scenario {
  readonly name: string
  readonly sentence: string
  readonly source: string
  readonly needs: ReadonlyArray<"next">
  readonly run: Effect.Effect<void, ScenarioFailed, Testkit>
  readonly timeoutMs: number
}

/**
 * All scenarios: a herd of first clients, the failure walkthroughs of the lifecycle design, and the chain that the wake
 * plan observed.
 *
 * **Details** Each takes a fresh `Testkit.layer`.
 *
 * **Example**
 *
 * ```ts
 * import { define } from "@holdfast/lifecycle/ServiceSpec"
 * import * as Scenario from "@holdfast/testkit/Scenario"
 * import { Testkit } from "@holdfast/testkit/Testkit"
 * import * as Effect from "effect/Effect"
 *
 * const hello = define({ app: "hello", version: "1.0.0", entry: new URL("../src/daemon.ts", import.meta.url) })
 * const crash = Scenario.all.find(({ name }) => name === "crash-while-ready")!
 *
 * export const picture = Effect.gen(function*() {
 *   const kit = yield* Testkit
 *   yield* crash.run
 *   yield* kit.writeTimeline("crash.html")
 * }).pipe(Effect.provide(Testkit.layer(hello, { title: crash.sentence })))
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export const all: ReadonlyArray<Scenario> = [...crashes, ...updates, ...sleeps]
