/** Who may claim a lease, as a pure function over the row and what is known of its holder. */
import type { IdentityState } from "../identity.ts"

/** The one row. `lockInode` is that of the lock it was claimed under, null where none was proved. */
export interface LeaseRow {
  readonly epoch: number
  /** `null`: released, or never claimed. */
  readonly holder: LeaseHolder | null
}

export interface LeaseHolder {
  readonly instanceID: string
  readonly tokenHash: string
  readonly pid: number
  readonly startIdentity: string
  readonly host: string
  readonly lockInode: string | null
  /** Milliseconds since the epoch, by the holder's wall clock. */
  readonly heartbeatAt: number
  readonly expiresAt: number
}

export type Verdict =
  /** The claimant is the owner with the next epoch. */
  | "Claim"
  /** The recorded holder runs: nobody takes its place, whatever its expiry says. */
  | "Refuse"
  /** Not yet: the row is watched, or its holder probed. */
  | "Observe"

/**
 * Policy `strict`. First the kernel's word: whoever holds the lock file that the row was claimed under is alone, whatever
 * clock, pid, namespace or boot say. Otherwise the recorded holder decides. `observed` has stayed unchanged for one lease.
 */
export const judgeClaim = (
  row: LeaseRow | undefined,
  lockInode: string | null,
  holder: IdentityState,
  observed?: LeaseRow
): Verdict => {
  if (row === undefined || row.holder === null) return "Claim"
  if (lockInode !== null && row.holder.lockInode === lockInode) return "Claim"
  switch (holder) {
    case "dead":
      return "Claim"
    case "alive":
      return "Refuse"
    case "unknown":
      return observed !== undefined && unchanged(observed, row) ? "Claim" : "Observe"
  }
}

/**
 * Policy `fenced`, where a lock proves nothing: a holder that is not dead is probed, and followed when it was deaf and
 * its lease is over. `deaf` is the row whose holder did not answer two probes.
 */
export const judgeFenced = (
  row: LeaseRow | undefined,
  holder: IdentityState,
  now: number,
  deaf?: LeaseRow
): Verdict => {
  if (row === undefined || row.holder === null || holder === "dead") return "Claim"
  return deaf !== undefined && unchanged(deaf, row) && row.holder.expiresAt <= now ? "Claim" : "Observe"
}

/** Whether two readings of the row are of one unchanged lease. */
export const unchanged = (before: LeaseRow, after: LeaseRow): boolean =>
  JSON.stringify(before) === JSON.stringify(after)

/** What a renewal found that did not match. */
export type Mismatch =
  /** Another owner was crowned, our claim was released, or the row is not ours. */
  | "Superseded"
  /** The row is older than what we hold, or gone: the store was replaced. */
  | "Replaced"

export const judgeMismatch = (row: LeaseRow | undefined, epoch: number): Mismatch =>
  row === undefined || row.epoch < epoch ? "Replaced" : "Superseded"
