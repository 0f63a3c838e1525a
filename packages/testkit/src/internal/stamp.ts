/**
 * Times that processes of one machine can compare: the system's monotonic clock, which no test moves. Bun counts from its
 * own start instead, so there it is the wall clock.
 */
const monotonic = process.versions["bun"] === undefined

const monotonicMs = (): number => Number(process.hrtime.bigint() / 1000n) / 1000

/** Now, in a form that says which clock it is of. */
export const stamp = (): string => (monotonic ? `m${monotonicMs()}` : `w${Date.now()}`)

/** A moment from which times are counted, by both clocks. */
export interface Origin {
  readonly monotonic: number
  readonly wall: number
}

export const origin = (): Origin => ({ monotonic: monotonic ? monotonicMs() : Date.now(), wall: Date.now() })

/** Milliseconds from `from` to a stamp. */
export const sinceOf = (from: Origin, text: string): number =>
  Number(text.slice(1)) - (text.startsWith("m") ? from.monotonic : from.wall)

export const since = (from: Origin): number => sinceOf(from, stamp())
