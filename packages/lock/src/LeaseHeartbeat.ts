/**
 * Keeping a claim: renewed on schedule and after sleep, lost only when superseded.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { provable } from "./lease.ts"
import type { ClaimSuperseded, LeaseUnavailable } from "./LeaseError.ts"
import { type Claim, defaultLease, type LeaseStore } from "./LeaseStore.ts"
import type { ProcessLock } from "./ProcessLock.ts"
import { count } from "./Telemetry.ts"
import * as Wake from "./Wake.ts"

/**
 * How long a renewal is good for, and how often it is renewed.
 *
 * **Details** A longer lease makes a takeover wait longer where nobody can tell whether the holder lives; a shorter one
 * writes more often. `renew` is at most a third of `lease`, so that two renewals may fail.
 *
 * @category models
 * @since 0.1.0
 */
export interface LeaseTimes {
  readonly lease?: Duration.Input
  readonly renew?: Duration.Input
}

/**
 * Checks the times; throws one clear sentence.
 *
 * **Details** Without options 30 s and 10 s (DESIGN §7); answers milliseconds. Throws a `RangeError` where `renew` is not
 * above zero, or more than a third of `lease`.
 *
 * **When to use** Where times come from a setting, before anything is claimed with them.
 *
 * **Example**
 *
 * ```ts
 * import { checkTimes } from "@holdfast/lock/LeaseHeartbeat"
 *
 * console.log(checkTimes({ lease: "1 minute", renew: "15 seconds" })) // => { leaseMs: 60000, renewMs: 15000 }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const checkTimes = (times: LeaseTimes = {}): { readonly leaseMs: number; readonly renewMs: number } => {
  const leaseMs = Duration.toMillis(times.lease ?? defaultLease)
  const renewMs = Duration.toMillis(times.renew ?? "10 seconds")
  if (!(renewMs > 0 && renewMs <= leaseMs / 3)) {
    throw new RangeError(
      `A lease of ${leaseMs} ms cannot be renewed every ${renewMs} ms: renew must be at most a third of it.`
    )
  }
  return { leaseMs, renewMs }
}

/**
 * A running heartbeat.
 *
 * **Details**
 *
 * - `claim`: what is renewed now.
 * - `lost`: returns when the claim was superseded, and only then. A store that cannot be written now, and one that was
 *   replaced, are not loss.
 * - `isRecent`: whether the last renewal is younger than one lease on both clocks.
 * - `recent`: whether this owner may act: `isRecent`, or renewed now. `false`
 *   only after the claim was superseded: an owner that holds the lock and cannot write goes on.
 * - `assert`: the same, and the lock's path still names the file we hold (or names one we hold by now). Before anything
 * is written that says that we own.
 * - `advance`: moves the claim past an epoch that a fence has accepted.
 *
 * @category models
 * @since 0.1.0
 */
export interface LeaseHeartbeat {
  readonly claim: () => Claim
  readonly lost: Effect.Effect<ClaimSuperseded>
  readonly recent: Effect.Effect<boolean>
  readonly isRecent: () => boolean
  readonly assert: Effect.Effect<boolean>
  readonly advance: (past: number) => Effect.Effect<number, ClaimSuperseded | LeaseUnavailable>
}

/** What follows from one renewal. `Later`: it could not be written now; the owner goes on and tries again soon. */
type Beat = "Renewed" | "Lost" | "Later"

const retryMs = 1000

/**
 * Starts to renew `claim`, for the life of the scope.
 *
 * **Gotchas** It ends nobody by itself: whoever starts it waits for `lost` and stops.
 *
 * **When to use** For an owner that is put together by hand. `Ownership.layer` does all of this.
 *
 * **Details** It renews every `renew`, a second after a renewal that could not be written, and at once after a gap (`Wake`).
 *
 * **Example**
 *
 * ```ts
 * import * as identity from "@holdfast/lock/identity"
 * import { provable } from "@holdfast/lock/lease"
 * import * as LeaseHeartbeat from "@holdfast/lock/LeaseHeartbeat"
 * import { LeaseStore } from "@holdfast/lock/LeaseStore"
 * import { ProcessLock } from "@holdfast/lock/ProcessLock"
 * import * as Effect from "effect/Effect"
 *
 * export const untilSuperseded = Effect.gen(function*() {
 *   const store = yield* LeaseStore
 *   const lock = yield* ProcessLock
 *   const lockInode = provable(lock.path, yield* lock.inode)
 *   const claim = yield* store.claim({ instanceID: "4b1f9c2e", identity: identity.own(), lockInode })
 *   const heartbeat = yield* LeaseHeartbeat.make({ store, lock, claim, times: LeaseHeartbeat.checkTimes() })
 *   return yield* heartbeat.lost
 * }).pipe(Effect.scoped)
 * ```
 *
 * Source: wake-recovery-plan.md "Contracts"; DESIGN §3 "Renewal".
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: {
  readonly store: LeaseStore["Service"]
  readonly lock: ProcessLock["Service"]
  readonly claim: Claim
  readonly times: ReturnType<typeof checkTimes>
  /** Policy `fenced`: the lease alone says who owns; the lock is tried again each second. */
  readonly fenced?: boolean
}): Effect.Effect<LeaseHeartbeat, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { fenced = false, lock, store, times } = options
    const clock = yield* Clock.clockWith(Effect.succeed)
    const lost = yield* Deferred.make<ClaimSuperseded>()
    const turn = yield* Semaphore.make(1)
    let claim = options.claim
    let renewed = yield* Wake.read

    /** Holds the file that the lock's path names now; `false` while another process does. */
    const anchor = Effect.gen(function* () {
      if (yield* lock.stillOurs) return true
      if (!(yield* lock.reanchor)) return false
      claim = { ...claim, lockInode: provable(lock.path, yield* lock.inode) }
      yield* Effect.logWarning("the lock file was replaced; locked the new one")
      return true
    })
    // the lease is looked at first: where another was crowned, no file is touched
    const renew = Effect.gen(function* () {
      const replaced = yield* store.renew(claim).pipe(
        Effect.as(false),
        Effect.catchTag("LeaseReplaced", ({ message }) => Effect.as(Effect.logWarning(message), true))
      )
      const moved = !(yield* lock.stillOurs)
      const anchored = yield* anchor
      if (!anchored && !fenced) return yield* later("another process holds the lock file that is there now")
      if (replaced || (moved && anchored)) yield* store.rewrite(claim)
      renewed = yield* Wake.read
      return anchored ? "Renewed" : ("Later" as Beat)
    }).pipe(
      Effect.catchTags({
        ClaimSuperseded: (error) =>
          Effect.logError(`claim superseded: ${error.message}`).pipe(
            Effect.andThen(count("supersessions")),
            Effect.andThen(Deferred.succeed(lost, error)),
            Effect.as("Lost" as Beat)
          ),
        LeaseUnavailable: ({ message }) => later(message)
      })
    )
    const later = (reason: string) =>
      Effect.as(Effect.logWarning(`the lease cannot be renewed now: ${reason}`), "Later" as Beat)
    const beat = turn.withPermit(Effect.tap(renew, (outcome) => count("renewals", outcome.toLowerCase())))
    const isRecent = () =>
      clock.currentTimeMillisUnsafe() - renewed.wall < times.leaseMs &&
      Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n) - renewed.monotonic < times.leaseMs

    yield* Effect.gen(function* () {
      let pause = times.renewMs
      while (true) {
        yield* Effect.sleep(pause)
        const outcome = yield* beat
        if (outcome === "Lost") return
        pause = outcome === "Later" ? Math.min(retryMs, times.renewMs) : times.renewMs
      }
    }).pipe(Effect.forkScoped)
    yield* Wake.gaps.pipe(
      Stream.runForEach(({ kind, ms }) =>
        Effect.andThen(Effect.logInfo(`${kind} for ${Math.round(ms / 1000)} s; renewing`), beat)
      ),
      Effect.forkScoped
    )
    return {
      claim: () => claim,
      lost: Deferred.await(lost),
      isRecent,
      recent: Effect.gen(function* () {
        if (yield* Deferred.isDone(lost)) return false
        return isRecent() || (yield* beat) !== "Lost"
      }),
      assert: Effect.gen(function* () {
        if (yield* Deferred.isDone(lost)) return false
        if (isRecent() && (fenced || (yield* lock.stillOurs))) return true
        return (yield* beat) !== "Lost" && (fenced || (yield* lock.stillOurs))
      }),
      advance: (past) =>
        turn.withPermit(
          Effect.map(store.advance(claim, past), (moved) => {
            claim = moved
            return moved.epoch
          })
        )
    }
  })
