/** Claiming and keeping the lease, over a store of one row. The same rules in SQLite and in memory. */
import * as identity from "../identity.ts"
import {
  judgeClaim,
  judgeFenced,
  judgeMismatch,
  type LeaseHolder,
  type LeaseRow,
  type Mismatch
} from "./leaseDecision.ts"
import type { Grounds } from "./leaseClaiming.ts"
import type { LeaseDatabase } from "./leaseDatabase.ts"

const crypto = () => process.getBuiltinModule("node:crypto")

/**
 * What proves to be the claimant: kept in memory only; the row has the token's hash.
 *
 * @category models
 * @since 0.1.0
 */
export interface Claim {
  readonly epoch: number
  readonly instanceID: string
  readonly token: string
  readonly identity: identity.ProcessIdentity
  /** Of the lock this claim was made under; null where none is proved. */
  readonly lockInode: string | null
}

export interface Times {
  /** Wall clock, milliseconds since the epoch. */
  readonly now: number
  readonly leaseMs: number
}

export type Claimed =
  | { readonly _tag: "Claimed"; readonly claim: Claim }
  | { readonly _tag: "Held"; readonly holder: LeaseHolder }
  /** Nobody can tell whether the holder lives: ask again with `observed` once the row has stayed so for one lease. */
  | { readonly _tag: "Unknown"; readonly row: LeaseRow }

export type Renewal = "Renewed" | Mismatch

export const hash = (token: string): string => crypto().createHash("sha256").update(token).digest("base64url")

const holderOf = (claim: Claim, { leaseMs, now }: Times): LeaseHolder => ({
  instanceID: claim.instanceID,
  tokenHash: hash(claim.token),
  ...claim.identity,
  lockInode: claim.lockInode,
  heartbeatAt: now,
  expiresAt: now + leaseMs
})

/** One try. The next epoch is taken and written in one transaction, so it is never handed out twice. */
export const claim = (
  store: LeaseDatabase,
  claimant: Pick<Claim, "instanceID" | "identity" | "lockInode">,
  times: Times,
  grounds: Grounds = { policy: "strict" }
): Claimed => {
  let outcome: Claimed | undefined
  store.transact((row) => {
    const holder = row?.holder ?? undefined
    const state = holder === undefined ? "dead" : identity.state(holder)
    const verdict =
      grounds.policy === "strict"
        ? judgeClaim(row, claimant.lockInode, state, grounds.observed)
        : judgeFenced(row, state, times.now, grounds.deaf)
    if (verdict === "Refuse") outcome = { _tag: "Held", holder: holder! }
    else if (verdict === "Observe") outcome = { _tag: "Unknown", row: row! }
    else {
      const token = crypto().randomBytes(32).toString("base64url")
      const claimed: Claim = { ...claimant, token, epoch: (row?.epoch ?? 0) + 1 }
      outcome = { _tag: "Claimed", claim: claimed }
      return { epoch: claimed.epoch, holder: holderOf(claimed, times) }
    }
    return undefined
  })
  return outcome!
}

/** By identity and token, not by expiry: expiry gates takeover, it never kills the authenticated owner. */
const isOurs = (row: LeaseRow | undefined, claim: Claim): boolean =>
  row !== undefined &&
  row.holder !== null &&
  row.epoch === claim.epoch &&
  row.holder.instanceID === claim.instanceID &&
  row.holder.tokenHash === hash(claim.token) &&
  row.holder.pid === claim.identity.pid &&
  row.holder.startIdentity === claim.identity.startIdentity

export const renew = (store: LeaseDatabase, claim: Claim, times: Times): Renewal => {
  const before = store.transact((row) =>
    isOurs(row, claim) ? { epoch: claim.epoch, holder: holderOf(claim, times) } : undefined
  )
  return isOurs(before, claim) ? "Renewed" : judgeMismatch(before, claim.epoch)
}

/** Gives the claim up; the epoch stays. `false` when it was not ours any more. */
export const release = (store: LeaseDatabase, claim: Claim): boolean =>
  isOurs(
    store.transact((row) => (isOurs(row, claim) ? { epoch: claim.epoch, holder: null } : undefined)),
    claim
  )

/** Moves our own claim past an epoch that some fence already accepted. `undefined` when it is not ours any more. */
export const advance = (store: LeaseDatabase, claim: Claim, past: number, times: Times): Claim | undefined => {
  const moved: Claim = { ...claim, epoch: Math.max(claim.epoch, past) + 1 }
  const before = store.transact((row) =>
    isOurs(row, claim) ? { epoch: moved.epoch, holder: holderOf(moved, times) } : undefined
  )
  return isOurs(before, claim) ? moved : undefined
}

/** Writes our claim into a store that took the old one's place, unless somebody was crowned there. */
export const rewrite = (store: LeaseDatabase, claim: Claim, times: Times): boolean => {
  let written = false
  store.transact((row) => {
    if (row !== undefined && row.epoch >= claim.epoch && !isOurs(row, claim)) return undefined
    written = true
    return { epoch: claim.epoch, holder: holderOf(claim, times) }
  })
  return written
}
