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
import { type Answer, claiming } from "./internal/leaseClaiming.ts"
import { leaseWords } from "./internal/leaseWords.ts"

export type { Claim } from "./internal/lease.ts"
export { type LeaseSight, type RecordedHolder, inspect } from "./internal/leaseSight.ts"

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
 * **Details** `null` there, as for no lock at all; then a claim follows the recorded holder (DESIGN §3).
 *
 * **When to use** As `lockInode` of a claim.
 *
 * **Example**
 *
 * ```ts
 * import type { HeldLock } from "@holdfast/lock/gate"
 * import { provable } from "@holdfast/lock/lease"
 *
 * export const proofOf = (lock: HeldLock): string | null => provable(lock.path, lock.heldInode)
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const provable = (path: string, inode: string | null): string | null =>
  fileSystem.of(path)?.remote === true ? null : inode

/** How long a renewal is good for, in milliseconds (DESIGN §7). */
const leaseMs = 30_000

/**
 * Whether the recorded holder serves, asked in a way that cannot be mistaken.
 *
 * @category models
 * @since 0.1.0
 */
export type Probe = (holder: { readonly instanceID: string; readonly pid: number }) => Promise<boolean>

/**
 * What a claim is made with. With a `probe` the policy is `fenced`, and `lock` may be missing.
 *
 * @category models
 * @since 0.1.0
 */
export interface ClaimOptions {
  readonly instanceID: string
  readonly lock: HeldLock | undefined
  readonly probe?: Probe | undefined
}

/**
 * Claims the lease at `path`.
 *
 * **Details** At once, where the recorded lock is the one that is held or the recorded holder is dead. Where nobody can
 * tell whether the holder lives, `strict` waits until the row has stayed unchanged for one lease by the monotonic clock;
 * `fenced` asks the holder, and follows one that is deaf twice when its lease is over.
 *
 * **When to use** Between `enter` and Effect, in a daemon that is up before Effect is loaded; `Ownership.layer` claims by
 * itself.
 *
 * **Gotchas** It can take as long as a lease (30 s), where nobody can tell whether the holder lives.
 *
 * **Example**
 *
 * ```ts
 * import type { HeldLock } from "@holdfast/lock/gate"
 * import { claim } from "@holdfast/lock/lease"
 * import { Ownership } from "@holdfast/lock/Ownership"
 * import { besideLock } from "@holdfast/lock/ServicePaths"
 *
 * export const ownership = async (lock: HeldLock, instanceID: string) => {
 *   const outcome = await claim(besideLock(lock.path).lease, { instanceID, lock })
 *   if (outcome._tag === "Claimed") return Ownership.layerAdopted(outcome.claim)
 *   throw new Error(outcome._tag === "Held" ? `Already running with PID ${outcome.pid}.` : outcome.message)
 * }
 * ```
 *
 * Source: DESIGN §3 "Lease"; wake-recovery-plan.md "Contracts".
 *
 * @category constructors
 * @since 0.1.0
 */
export const claim = async (path: string, { instanceID, lock, probe }: ClaimOptions): Promise<LeaseOutcome> => {
  const lockInode = lock === undefined ? null : provable(lock.path, lock.heldInode)
  const claimant = { instanceID, identity: identity.own(), lockInode }
  try {
    const store = openLease(path)
    try {
      const steps = claiming(probe === undefined ? "strict" : "fenced", leaseMs)
      let answer: Omit<Answer, "monotonic"> = {}
      for (;;) {
        const step = steps.next({ ...answer, monotonic: performance.now() })
        if (step.done === true) {
          return step.value._tag === "Claimed" ? step.value : { _tag: "Held", pid: step.value.holder.pid }
        }
        answer = {}
        switch (step.value._tag) {
          case "Try":
            answer = { outcome: claimOnce(store, claimant, { now: Date.now(), leaseMs }, step.value.grounds) }
            break
          case "Probe":
            answer = { serving: await probe!(step.value.holder) }
            break
          case "Wait": {
            const { ms } = step.value
            await new Promise((resolve) => setTimeout(resolve, ms))
          }
        }
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
