/**
 * How a claim proceeds, as a generator that asks for one thing at a time: its shells are plain before Effect is loaded,
 * and Effect afterwards.
 */
import type { Claimed } from "./lease.ts"
import { type LeaseHolder, type LeaseRow, unchanged } from "./leaseDecision.ts"

/** What speaks for taking the place of a holder that is not dead. */
export type Grounds =
  /** The row that has stayed unchanged for one lease. */
  | { readonly policy: "strict"; readonly observed?: LeaseRow | undefined }
  /** The row whose holder did not answer two probes. */
  | { readonly policy: "fenced"; readonly deaf?: LeaseRow | undefined }

export type Ask =
  | { readonly _tag: "Try"; readonly grounds: Grounds }
  | { readonly _tag: "Wait"; readonly ms: number }
  | { readonly _tag: "Probe"; readonly holder: LeaseHolder }

/** The answer to what was asked, and when it came, in milliseconds of a monotonic clock. */
export interface Answer {
  readonly monotonic: number
  readonly outcome?: Claimed
  readonly serving?: boolean
}

export type Final = Exclude<Claimed, { readonly _tag: "Unknown" }>

const lookMs = 1000

/** A holder that nobody can judge is waited for: one lease of an unchanged row. */
function* strict(leaseMs: number): Generator<Ask, Final, Answer> {
  let observed: { readonly row: LeaseRow; readonly since: number } | undefined
  let now = 0
  while (true) {
    const waited = observed !== undefined && now - observed.since >= leaseMs
    const { monotonic, outcome } = yield {
      _tag: "Try",
      grounds: { policy: "strict", observed: waited ? observed!.row : undefined }
    }
    if (outcome!._tag !== "Unknown") return outcome as Final
    const { row } = outcome as Extract<Claimed, { readonly _tag: "Unknown" }>
    if (observed === undefined || !unchanged(observed.row, row)) observed = { row, since: monotonic }
    now = (yield { _tag: "Wait", ms: Math.min(lookMs, leaseMs) }).monotonic
  }
}

/** A holder that serves keeps its place; a deaf one is followed after two probes, when its lease is over. */
function* fenced(): Generator<Ask, Final, Answer> {
  let deaf: LeaseRow | undefined
  let probes = 0
  while (true) {
    const { outcome } = yield { _tag: "Try", grounds: { policy: "fenced", deaf: probes >= 2 ? deaf : undefined } }
    if (outcome!._tag !== "Unknown") return outcome as Final
    const { row } = outcome as Extract<Claimed, { readonly _tag: "Unknown" }>
    if (deaf === undefined || !unchanged(deaf, row)) probes = 0
    deaf = row
    const { serving } = yield { _tag: "Probe", holder: row.holder! }
    if (serving === true) return { _tag: "Held", holder: row.holder! }
    probes += 1
    yield { _tag: "Wait", ms: lookMs }
  }
}

export const claiming = (policy: Grounds["policy"], leaseMs: number): Generator<Ask, Final, Answer> =>
  policy === "strict" ? strict(leaseMs) : fenced()
