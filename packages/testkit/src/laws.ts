/**
 * The laws for vitest; `all` for any runner.
 *
 * @since 0.1.0
 */
import { it } from "@effect/vitest"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as Effect from "effect/Effect"
import { describe } from "vitest"
import { all } from "./Law.ts"
import { Testkit, type TestkitOptions } from "./Testkit.ts"

export { all, type Law } from "./Law.ts"

/**
 * Declares one test for each law, against `spec`, with real processes in directories of their own. `options` are the
 * testkit's.
 *
 * **When to use** In one test file of a service: it finds out whether the service keeps what Holdfast promises for it. It takes
 * minutes.
 *
 * **Example**
 *
 * ```ts
 * import * as laws from "@holdfast/testkit/laws"
 * import { define } from "@holdfast/lifecycle/ServiceSpec"
 *
 * laws.suite(define({ app: "hello", version: "1.0.0", entry: new URL("../src/daemon.ts", import.meta.url) }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const suite = (spec: ServiceSpec, options: TestkitOptions = {}): void => {
  describe(`${spec.app} keeps the laws`, () => {
    for (const { check, number, sentence, timeoutMs } of all) {
      const title = `law ${number} on ${spec.app}`
      it.live(
        `${number}: ${sentence}`,
        () => check.pipe(Effect.provide(Testkit.layer(spec, { title, ...options }))),
        timeoutMs
      )
    }
  })
}
