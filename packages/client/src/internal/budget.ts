/** How often a service may be started by all its clients together, as pure functions over the record they share. */
import type { ProcessIdentity } from "@holdfast/lock/identity"

export interface Budget {
  /** Of the machine the record was made in; another one's means nothing. */
  readonly boot: string
  /** Starts in a row that did not last. */
  readonly spawns: number
  /** When the last one was, and when the next may be; milliseconds of wall-clock time, as all times here. */
  readonly at: number
  readonly notBefore: number
  /** Who starts it, or was started last. */
  readonly starter?: ProcessIdentity
  /** Of these starts: how many ended at once, with which words first and last, and when the last one did. */
  readonly crashes: number
  readonly first?: string
  readonly last?: string
  readonly crashedAt?: number
}

export const empty = (boot: string): Budget => ({ boot, spawns: 0, at: 0, notBefore: 0, crashes: 0 })

/** A row of starts is over when nobody needed another for this long after it was allowed. */
export const forgottenAfterMs = 10_000

/** So many starts in a row cost nobody a pause: a person may kill a service more than once. */
export const free = 3

const capMs = 5000

/** The pause after that many starts in a row: 250 ms × 2, at most 5 s; jitter is the caller's. */
export const pauseMs = (spawns: number): number => (spawns < free ? 0 : Math.min(250 * 2 ** (spawns - free), capMs))

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
const isText = (value: unknown): value is string | undefined => value === undefined || typeof value === "string"
const isIdentity = (value: unknown): value is ProcessIdentity | undefined => {
  if (value === undefined) return true
  const { host, pid, startIdentity } = (value ?? {}) as Partial<Record<keyof ProcessIdentity, unknown>>
  return isCount(pid) && typeof host === "string" && typeof startIdentity === "string"
}

/** What the record says now: a corrupt one, one of the future, of another boot or long ago counts as empty. */
export const read = (text: string, boot: string, now: number): Budget => {
  const found = parse(text)
  if (found === undefined || found.boot !== boot) return empty(boot)
  const future = found.at > now || (found.crashedAt ?? 0) > now || found.notBefore > now + 2 * capMs
  return future || now - found.notBefore > forgottenAfterMs ? empty(boot) : found
}

const parse = (text: string): Budget | undefined => {
  let found: Partial<Record<keyof Budget, unknown>>
  try {
    found = (JSON.parse(text) as typeof found | null) ?? {}
  } catch {
    return undefined
  }
  const { at, boot, crashedAt, crashes, first, last, notBefore, spawns, starter } = found
  const counts = [at, notBefore, spawns, crashes, crashedAt ?? 0].every(isCount)
  const texts = typeof boot === "string" && isText(first) && isText(last)
  return counts && texts && isIdentity(starter) ? (found as unknown as Budget) : undefined
}

/** One more start, now, of nobody known yet; `jitter` is from 0.8 to 1.2. */
export const started = ({ starter: _, ...budget }: Budget, now: number, jitter: number): Budget => {
  const spawns = budget.spawns + 1
  return { ...budget, spawns, at: now, notBefore: now + Math.round(pauseMs(spawns) * jitter) }
}

/** The start that was last ended at once, with these words. */
export const crashed = (budget: Budget, words: string, now: number): Budget => ({
  ...budget,
  crashes: budget.crashes + 1,
  first: budget.first ?? words,
  last: words,
  crashedAt: now
})
