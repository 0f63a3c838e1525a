/**
 * What is the matter with a service: a pure function from what was seen to findings in words.
 *
 * @since 0.1.0
 */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { DirectoryUnusable } from "./ClientError.ts"
import { gather as gatherIn, type Facts } from "./internal/facts.ts"
import { aboutEnvironment, aboutLog, aboutVersion } from "./internal/findingsAround.ts"
import {
  aboutHolder,
  aboutEndpoint,
  aboutLease,
  aboutRegistration,
  aboutSecret,
  aboutClock
} from "./internal/findingsOwner.ts"
import { aboutDirectory, aboutFileSystem, aboutPermissions, aboutPrimitive } from "./internal/findingsPlace.ts"
import { resolvePaths } from "./ServiceClient.ts"
import type { Check, Finding } from "./internal/finding.ts"

export type { Endpoint, Environment, Facts, Seen } from "./internal/facts.ts"
export type { Check, Finding } from "./internal/finding.ts"

const checks: ReadonlyArray<readonly [Check, (facts: Facts) => Omit<Finding, "check">]> = [
  ["directory", aboutDirectory],
  ["permissions", aboutPermissions],
  ["filesystem", aboutFileSystem],
  ["lock primitive", aboutPrimitive],
  ["holder", aboutHolder],
  ["registration", aboutRegistration],
  ["endpoint", aboutEndpoint],
  ["secret", aboutSecret],
  ["lease", aboutLease],
  ["clock", aboutClock],
  ["version", aboutVersion],
  ["environment", aboutEnvironment],
  ["log tail", aboutLog]
]

/**
 * One finding for each check, in the order in which one depends on another: the first that is wrong is the one to mend
 * first. Pure.
 *
 * **When to use** On what `gather` read, or on facts that a test makes up.
 *
 * **Example**
 *
 * ```ts
 * import * as Doctor from "@holdfast/client/Doctor"
 *
 * export const firstToMend = (facts: Doctor.Facts): string | undefined => {
 *   const wrong = Doctor.diagnose(facts).find(({ verdict }) => verdict === "wrong")
 *   return wrong === undefined ? undefined : `${wrong.check}: ${wrong.saw} ${wrong.action ?? ""}`
 * }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const diagnose = (facts: Facts): ReadonlyArray<Finding> =>
  checks.map(([check, about]) => ({ check, ...about(facts) }))

/**
 * Whether nothing needs doing: all is well, or nobody runs and nothing is in the way of a start.
 *
 * **When to use** For an exit code. `unknown` is fine here: another finding has the reason.
 *
 * **Example**
 *
 * ```ts
 * import { isFine } from "@holdfast/client/Doctor"
 *
 * console.log(isFine([{ check: "directory", verdict: "fine", saw: "/tmp/hello" }])) // => true
 * console.log(isFine([{ check: "secret", verdict: "wrong", saw: "Others may read it.", action: "Remove it." }])) // => false
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isFine = (findings: ReadonlyArray<Finding>): boolean =>
  findings.every(({ verdict }) => verdict !== "wrong")

/**
 * Reads what `diagnose` judges. No file is created or touched, no lock taken, nobody started or signalled; the owner is
 * asked as any client asks it. Takes less than five seconds.
 *
 * **When to use** For a check of the application's own beside `service doctor`.
 *
 * **Example**
 *
 * ```ts
 * import * as Doctor from "@holdfast/client/Doctor"
 * import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
 * import * as Effect from "effect/Effect"
 *
 * export const wrong = (spec: ServiceSpec) =>
 *   Effect.map(Doctor.gather(spec), (facts) => Doctor.diagnose(facts).filter(({ verdict }) => verdict === "wrong"))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const gather = (spec: ServiceSpec): Effect.Effect<Facts, DirectoryUnusable> =>
  Effect.gen(function* () {
    const paths = resolvePaths(spec)
    if (paths instanceof DirectoryUnusable) return yield* paths
    const clock = yield* Clock.Clock
    return yield* Effect.promise(() => gatherIn(spec, paths, () => clock.currentTimeMillisUnsafe()))
  })
