/** When a service that nobody uses ends by itself, as a pure function of what happened and when. */

export interface Idle {
  readonly ready: boolean
  readonly used: boolean
  /** Since when it is ready and nobody uses it; milliseconds on a monotonic clock. */
  readonly since: number
}

export type IdleEvent =
  | { readonly type: "Ready" }
  | { readonly type: "Used"; readonly used: boolean }
  /** The time waited for has passed. */
  | { readonly type: "Passed" }

export type IdleStep =
  /** Until something happens. */
  { readonly _tag: "Rest" } | { readonly _tag: "Wait"; readonly ms: number } | { readonly _tag: "Stop" }

export const initial: Idle = { ready: false, used: false, since: 0 }

/** Timers end at 2^31 ms; a longer idle time is waited for in parts. */
const longestWait = 86_400_000

/** Who comes to a look this late was frozen or blocked; whoever waited meanwhile is heard first, within this time. */
const lateness = 1000

export const decide = (limitMs: number, idle: Idle, event: IdleEvent, now: number): readonly [Idle, IdleStep] => {
  let { ready, since, used } = idle
  if (event.type === "Ready") [ready, since] = [true, now]
  if (event.type === "Used") [used, since] = [event.used, now]
  const left = since + limitMs - now
  const late = event.type === "Passed" && left < -lateness
  if (late) since = now + lateness - limitMs
  const next = { ready, used, since }
  if (!ready || used) return [next, { _tag: "Rest" }]
  if (late) return [next, { _tag: "Wait", ms: lateness }]
  return [next, left > 0 ? { _tag: "Wait", ms: Math.min(left, longestWait) } : { _tag: "Stop" }]
}
