/**
 * Claiming the lease before Effect is loaded.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import * as fileSystem from "./fileSystem.ts"
import type { HeldLock } from "./gate.ts"
import * as identity from "./identity.ts"
import { type Claim, claim as claimOnce } from "./internal/lease.ts"
import { type LeaseCode, LeaseFailure, openLease } from "./internal/leaseDatabase.ts"
import { type LeaseRow, unchanged } from "./internal/leaseDecision.ts"
import { leaseWords } from "./internal/leaseWords.ts"

export type { Claim } from "./internal/lease.ts"

/**
 * What became of a claim. Only `Claimed` may go on; hand the claim to `Ownership.layerAdopted`.
 *
 * @category models
 * @since 0.1.0
 */
export type LeaseOutcome =
  | { readonly _tag: "Claimed"; readonly claim: Claim }
  | { readonly _tag: "Held"; readonly pid: number }
  | {
      readonly _tag: "Unavailable"
      readonly code: LeaseCode
      readonly path: string
      readonly message: string
      readonly action: string
    }

/**
 * The inode of a lock as proof that its holder is alone: on a remote file system another machine may hold it as well.
 *
 * @category combinators
 * @since 0.1.0
 */
export const provable = (path: string, inode: string | null): string | null =>
  fileSystem.of(path)?.remote === true ? null : inode

/** How long a renewal is good for, in milliseconds (DESIGN §7). */
const leaseMs = 30_000

const lookMs = 1000

/**
 * Claims the lease at `path` for the holder of `lock`.
 *
 * **Details** At once, where the recorded lock is the one that is held or the recorded holder is dead. Where nobody can
 * tell whether the holder lives it waits until the row has stayed unchanged for one lease by the monotonic clock.
 *
 * @category constructors
 * @since 0.1.0
 */
export const claim = async (path: string, lock: HeldLock, instanceID: string): Promise<LeaseOutcome> => {
  const claimant = { instanceID, identity: identity.own(), lockInode: provable(lock.path, lock.heldInode) }
  let observed: { readonly row: LeaseRow; readonly since: number } | undefined
  try {
    const store = openLease(path)
    try {
      for (;;) {
        const waited = observed !== undefined && performance.now() - observed.since >= leaseMs
        const outcome = claimOnce(store, claimant, { now: Date.now(), leaseMs }, waited ? observed!.row : undefined)
        if (outcome._tag === "Claimed") return outcome
        if (outcome._tag === "Held") return { _tag: "Held", pid: outcome.holder.pid }
        if (observed === undefined || !unchanged(observed.row, outcome.row)) {
          observed = { row: outcome.row, since: performance.now() }
        }
        await new Promise((resolve) => setTimeout(resolve, lookMs))
      }
    } finally {
      store.close()
    }
  } catch (error) {
    if (!(error instanceof LeaseFailure)) throw error
    // replaced in the very moment of claiming: whoever did so is at it
    const code = error.failure._tag === "Replaced" ? "busy" : error.failure.code
    return { _tag: "Unavailable", code, path, ...leaseWords(path, code) }
  }
}
