/**
 * Named moments of an owner's life, for tests that crash or pause it exactly there.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */

/**
 * The moments, in their order; the last three are the statuses that an owner comes to after `starting`.
 *
 * @category models
 * @since 0.1.0
 */
export const steps = [
  "before-lock",
  "after-lock",
  "before-bind",
  "after-bind",
  "before-register",
  "after-register",
  "during-boot",
  "during-drain",
  "at-rename",
  "ready",
  "failed",
  "stopping"
] as const

/**
 * @category models
 * @since 0.1.0
 */
export type Step = (typeof steps)[number]

const listener = Symbol.for("@holdfast/step")

/**
 * Says that a moment has come. Nobody listens unless a test preloaded a listener under `Symbol.for("@holdfast/step")`.
 *
 * @category combinators
 * @since 0.1.0
 */
export const step = (name: Step): void => (globalThis as { [listener]?: (name: Step) => void })[listener]?.(name)
