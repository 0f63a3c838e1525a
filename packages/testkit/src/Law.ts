/**
 * The laws of DESIGN §10 as checks that hold for any service, under any test runner.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import { clientsLaws } from "./internal/clientsLaws.ts"
import { ownersLaws } from "./internal/ownersLaws.ts"
import type { Testkit } from "./Testkit.ts"
import type { LawBroken } from "./WaitedTooLong.ts"

/**
 * A law: `check` runs it against real processes and fails with what happened. It takes less than `timeoutMs`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Law {
  readonly number: number
  readonly sentence: string
  readonly check: Effect.Effect<void, LawBroken, Testkit>
  readonly timeoutMs: number
}

/**
 * The ten laws, by number.
 *
 * **Details** Each takes a fresh `Testkit.layer`. Law 2 looks at the fence where the layer's options name its database.
 *
 * **When to use** Under a runner other than vitest; for vitest there is `laws.suite`.
 *
 * **Gotchas** A law that holds in one run was not broken in that run. What only chance brings together is drawn by `chaos`.
 *
 * **Example**
 *
 * ```ts
 * import * as laws from "@holdfast/testkit/laws"
 * import { Testkit } from "@holdfast/testkit/Testkit"
 * import { define } from "@holdfast/lifecycle/ServiceSpec"
 * import * as Effect from "effect/Effect"
 *
 * const hello = define({ app: "hello", version: "1.0.0", entry: new URL("../src/daemon.ts", import.meta.url) })
 *
 * export const everyLaw = Effect.forEach(laws.all, ({ check }) => Effect.provide(check, Testkit.layer(hello)))
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export const all: ReadonlyArray<Law> = [...ownersLaws, ...clientsLaws].toSorted((a, b) => a.number - b.number)
