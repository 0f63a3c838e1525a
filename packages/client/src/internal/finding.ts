/** What one check found, in words. */
import { oneLine } from "@holdfast/lock/Problem"

/**
 * In the order of a doctor's list.
 *
 * @category models
 * @since 0.1.0
 */
export type Check =
  | "directory"
  | "permissions"
  | "filesystem"
  | "lock primitive"
  | "holder"
  | "registration"
  | "endpoint"
  | "secret"
  | "lease"
  | "clock"
  | "version"
  | "environment"
  | "log tail"

/**
 * `saw`: one line. `unknown`: it could not be looked at, for a reason that another finding has. `action`: the one thing
 * to do, where it is wrong.
 *
 * @category models
 * @since 0.1.0
 */
export interface Finding {
  readonly check: Check
  readonly verdict: "fine" | "wrong" | "unknown"
  readonly saw: string
  readonly action?: string
}

type Result = Omit<Finding, "check">

const longest = 300

const line = (text: string): string => {
  const whole = oneLine(text).trim()
  return whole.length > longest ? `${whole.slice(0, longest)}…` : whole
}

export const fine = (saw: string): Result => ({ verdict: "fine", saw: line(saw) })
export const wrong = (saw: string, action: string): Result => ({
  verdict: "wrong",
  saw: line(saw),
  action: line(action)
})
export const unknown = (saw: string): Result => ({ verdict: "unknown", saw: line(saw) })

/** A problem that has its words. */
export const broken = ({ action, message }: { readonly message: string; readonly action: string }): Result =>
  wrong(message, action)

/** How long ago, or how far ahead, in the unit a person would use. */
export const ago = (ms: number): string => {
  const seconds = Math.round(Math.abs(ms) / 1000)
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`
}
