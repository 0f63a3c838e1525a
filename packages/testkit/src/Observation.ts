/**
 * What the testkit sees of a service while a test runs.
 *
 * @since 0.1.0
 */
import type { Step } from "@holdfast/lock/step"

/**
 * One look at a service from outside, `at` milliseconds after the test began; the next one is of the next change.
 *
 * **Details** `holder`: the process that the system says holds the service's lock (Linux; elsewhere the one that the
 * owner's note names). `registered`, `instanceID`: whom the registration names.
 *
 * @category models
 * @since 0.1.0
 */
export interface Sample {
  readonly at: number
  readonly holder: number | undefined
  readonly registered: number | undefined
  readonly instanceID: string | undefined
}

/**
 * Epochs at one moment: the lease's, and the one that the application's fence accepts. `undefined` where there is none,
 * or it cannot be read now.
 *
 * @category models
 * @since 0.1.0
 */
export interface Epochs {
  readonly lease: number | undefined
  readonly fence: number | undefined
}

/**
 * The life of one process of the service, from its own marks. Times are milliseconds since the test began.
 *
 * **Details** `role`: `swarm` for one that the test started, `contender` for one that a client started. `to`, `code`: when
 * and how it ended; one that was killed has no code, and ended soon after `to`, when it was seen last. `steps`: the named
 * moments it came to. `ordered`: what it did to itself at one of them, since the test had said so. `modules`: URL and size
 * of each module it loaded (`swarm` under Node only). `peakRssBytes`: the most memory it held: its own word once it has
 * ended by itself, else the system's at the last look (Linux).
 *
 * **Example**
 *
 * ```ts
 * import type { Life } from "@holdfast/testkit/Observation"
 *
 * export const ready = (lives: ReadonlyArray<Life>): ReadonlyArray<number> =>
 *   lives.filter(({ steps }) => steps.some(({ step }) => step === "ready")).map(({ pid }) => pid)
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Life {
  readonly pid: number
  readonly role: "swarm" | "contender"
  readonly from: number
  readonly to: number | undefined
  readonly code: number | undefined
  readonly steps: ReadonlyArray<{ readonly at: number; readonly step: Step }>
  readonly ordered: ReadonlyArray<{ readonly at: number; readonly signal: string }>
  readonly modules: ReadonlyArray<{ readonly at: number; readonly url: string; readonly bytes: number }>
  readonly peakRssBytes: number | undefined
}
