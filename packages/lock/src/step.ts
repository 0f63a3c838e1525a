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
 * The name of such a moment.
 *
 * @category models
 * @since 0.1.0
 */
export type Step = (typeof steps)[number]

const listener = Symbol.for("@holdfast/step")

/**
 * Says that a moment has come. Nobody listens unless a test preloaded a listener under `Symbol.for("@holdfast/step")`.
 *
 * **Details** It does nothing else and throws nothing of its own; a listener runs before it returns.
 *
 * **When to use** In an owner of your own, to have it tested at exactly that moment. It costs one look at a symbol.
 *
 * **Example**
 *
 * ```ts
 * import { step, type Step } from "@holdfast/lock/step"
 *
 * const seen: Array<Step> = []
 * Object.assign(globalThis, { [Symbol.for("@holdfast/step")]: (name: Step) => void seen.push(name) })
 * step("ready")
 * console.log(seen) // => ["ready"]
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const step = (name: Step): void => (globalThis as { [listener]?: (name: Step) => void })[listener]?.(name)
