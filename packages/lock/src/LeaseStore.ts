/**
 * Where the lease is kept: one row with the epoch, and who holds it.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as core from "./internal/lease.ts"
import { type LeaseDatabase, LeaseFailure, openLease } from "./internal/leaseDatabase.ts"
import { type Answer, claiming } from "./internal/leaseClaiming.ts"
import type { LeaseHolder, LeaseRow } from "./internal/leaseDecision.ts"
import * as Wake from "./Wake.ts"
import { inodeOf } from "./OwnerNote.ts"
import {
  type ClaimSuperseded,
  LeaseHeld,
  LeaseReplaced,
  type LeaseUnavailable,
  superseded,
  unavailable
} from "./LeaseError.ts"

export { ClaimSuperseded, LeaseHeld, LeaseReplaced, LeaseUnavailable } from "./LeaseError.ts"

/**
 * A claim that was granted. It carries the token in the clear, so it stays in the owner's memory.
 *
 * @category models
 * @since 0.1.0
 */
export type Claim = core.Claim

/**
 * What a claimant says of itself. `lockInode` is that of the process lock it provably holds; `null` where none is.
 *
 * @category models
 * @since 0.1.0
 */
export type Claimant = Pick<Claim, "instanceID" | "identity" | "lockInode">

/**
 * Whether a recorded holder serves. With one, a claim follows the policy `fenced`: a holder that is not dead is asked,
 * whatever lock is held, and followed when it was deaf twice and its lease is over.
 *
 * @category models
 * @since 0.1.0
 */
export type Probe = (holder: LeaseHolder) => Effect.Effect<boolean>

/**
 * The lease as it stands. `live` means that it has not expired: whether a takeover has to wait, not whether the holder
 * is alive. Times are milliseconds since the epoch by the holder's wall clock.
 *
 * @category models
 * @since 0.1.0
 */
export interface LeaseStatus {
  readonly epoch: number
  readonly live: boolean
  readonly holder: {
    readonly instanceID: string
    readonly pid: number
    readonly host: string
    readonly startIdentity: string
    readonly heartbeatAt: number
    readonly expiresAt: number
  } | null
}

/**
 * The lease's store: six operations, each one transaction.
 *
 * **Details**
 *
 * - `claim`: the next epoch, by the two rules of DESIGN §3. Where nobody can tell whether the holder lives it waits
 *   until the row has stayed unchanged for one lease on this process's monotonic clock.
 * - `renew`: matches epoch, instance, token, pid and start identity, and **not** the expiry: an owner that slept longer
 *   than its lease re-arms it.
 * - `release`: the epoch stays, the holder goes; a claim that is not there any more is left alone.
 * - `status`: looks.
 * - `advance`: moves our own claim past an epoch that a fence has already accepted.
 * - `rewrite`: puts our claim into a store that took the old one's place, unless another owner was crowned there.
 *
 * **Gotchas** An epoch is never handed out twice by one store; a store put back from an older copy can hand one out
 * again, which is why a fence moves the owner past what it has seen.
 *
 * **When to use** Through `Ownership`, which claims, renews and releases. By itself to look (`status`), or for an owner that
 * is put together by hand.
 *
 * **Example**
 *
 * ```ts
 * import * as identity from "@holdfast/lock/identity"
 * import { LeaseStore } from "@holdfast/lock/LeaseStore"
 * import * as Effect from "effect/Effect"
 *
 * const twice = Effect.gen(function*() {
 *   const store = yield* LeaseStore
 *   const claimant = { instanceID: "4b1f9c2e", identity: identity.own(), lockInode: null }
 *   yield* store.release(yield* store.claim(claimant))
 *   const { epoch } = yield* store.claim(claimant)
 *   return epoch
 * })
 * console.log(await Effect.runPromise(twice.pipe(Effect.provide(LeaseStore.layerMemory())))) // => 2
 * ```
 *
 * Source: wake-recovery-plan.md "Contracts"; DESIGN §3 "Lease".
 *
 * @category services
 * @since 0.1.0
 */
export class LeaseStore extends Context.Service<
  LeaseStore,
  {
    readonly claim: (claimant: Claimant, probe?: Probe) => Effect.Effect<Claim, LeaseHeld | LeaseUnavailable>
    readonly renew: (claim: Claim) => Effect.Effect<void, ClaimSuperseded | LeaseReplaced | LeaseUnavailable>
    readonly release: (claim: Claim) => Effect.Effect<void, LeaseUnavailable>
    readonly status: Effect.Effect<LeaseStatus, LeaseUnavailable>
    readonly advance: (claim: Claim, past: number) => Effect.Effect<Claim, ClaimSuperseded | LeaseUnavailable>
    readonly rewrite: (claim: Claim) => Effect.Effect<void, ClaimSuperseded | LeaseUnavailable>
  }
>()("@holdfast/lock/LeaseStore") {
  /** In a SQLite file that is created with mode 0600 on first use; `lease` is how long a renewal is good for. */
  static readonly layerSqlite = (
    path: string,
    options?: { readonly lease?: Duration.Input }
  ): Layer.Layer<LeaseStore> =>
    Layer.effect(
      LeaseStore,
      make(
        path,
        () => openLease(path),
        () => inodeOf(path) !== undefined,
        options?.lease
      )
    )

  /** In memory, under the same rules; for tests of one process. */
  static readonly layerMemory = (options?: { readonly lease?: Duration.Input }): Layer.Layer<LeaseStore> =>
    Layer.effect(
      LeaseStore,
      Effect.suspend(() => make("memory", inMemory(), () => true, options?.lease))
    )
}

/**
 * How long a renewal is good for where nothing else is said (DESIGN §7).
 *
 * @category models
 * @since 0.1.0
 */
export const defaultLease = "30 seconds"

const inMemory = (): (() => LeaseDatabase) => {
  let row: LeaseRow | undefined
  const database: LeaseDatabase = {
    read: () => row,
    transact: (decide) => {
      const before = row
      row = decide(before) ?? before
      return before
    },
    close: () => undefined
  }
  return () => database
}

const make = (
  path: string,
  open: () => LeaseDatabase,
  exists: () => boolean,
  lease: Duration.Input = defaultLease
): Effect.Effect<LeaseStore["Service"], never, Scope.Scope> =>
  Effect.gen(function* () {
    const leaseMs = Duration.toMillis(lease)
    let database: LeaseDatabase | undefined
    const drop = () => {
      const dropped = database
      database = undefined
      dropped?.close()
    }
    yield* Effect.addFinalizer(() => Effect.sync(drop))

    const using = <A>(
      body: (database: LeaseDatabase, times: core.Times) => A
    ): Effect.Effect<A, LeaseReplaced | LeaseUnavailable> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.try({
          try: () => body((database ??= open()), { now, leaseMs }),
          catch: (error) => {
            if (!(error instanceof LeaseFailure)) throw error
            drop() // the next operation opens what is there then
            return error.failure._tag === "Replaced"
              ? new LeaseReplaced({ path, message: `The lease ${path} was replaced.`, action: "" })
              : unavailable(path, error.failure.code)
          }
        })
      )
    /** Where a replaced file is simply the file: once more with what is there now. */
    const usingCurrent = <A>(
      body: (database: LeaseDatabase, times: core.Times) => A
    ): Effect.Effect<A, LeaseUnavailable> =>
      using(body).pipe(
        Effect.catchTag("LeaseReplaced", () => using(body)),
        Effect.catchTag("LeaseReplaced", () => Effect.fail(unavailable(path, "busy")))
      )
    const epochNow = usingCurrent((store) => store.read()?.epoch ?? null)
    const lost = (claim: Claim) => Effect.flatMap(epochNow, (stored) => Effect.fail(superseded(claim.epoch, stored)))

    const claim = (claimant: Claimant, probe?: Probe): Effect.Effect<Claim, LeaseHeld | LeaseUnavailable> =>
      Effect.gen(function* () {
        const steps = claiming(probe === undefined ? "strict" : "fenced", leaseMs)
        let answer: Omit<Answer, "monotonic"> = {}
        while (true) {
          const { monotonic } = yield* Wake.read
          const step = steps.next({ ...answer, monotonic })
          if (step.done === true)
            return yield* step.value._tag === "Claimed" ? Effect.succeed(step.value.claim) : held(step.value.holder)
          const ask = step.value
          answer = {}
          switch (ask._tag) {
            case "Try":
              answer = {
                outcome: yield* usingCurrent((store, times) => core.claim(store, claimant, times, ask.grounds))
              }
              break
            case "Probe":
              answer = { serving: yield* probe!(ask.holder) }
              break
            case "Wait":
              yield* Effect.sleep(ask.ms)
          }
        }
      })

    return LeaseStore.of({
      claim,
      renew: (claim) =>
        Effect.flatMap(
          using((store, times) => core.renew(store, claim, times)),
          (renewal): Effect.Effect<void, ClaimSuperseded | LeaseReplaced | LeaseUnavailable> => {
            switch (renewal) {
              case "Renewed":
                return Effect.void
              case "Superseded":
                return lost(claim)
              case "Replaced":
                return Effect.fail(
                  new LeaseReplaced({ path, message: `The lease ${path} was replaced by an older one.`, action: "" })
                )
            }
          }
        ),
      release: (claim) => Effect.asVoid(usingCurrent((store) => core.release(store, claim))),
      // a look creates nothing
      status: Effect.suspend(() =>
        exists()
          ? usingCurrent((store, { now }) => statusOf(store.read(), now))
          : Effect.succeed<LeaseStatus>({ epoch: 0, live: false, holder: null })
      ),
      advance: (claim, past) =>
        Effect.flatMap(
          usingCurrent((store, times) => core.advance(store, claim, past, times)),
          (moved) => (moved === undefined ? lost(claim) : Effect.succeed(moved))
        ),
      rewrite: (claim) =>
        Effect.flatMap(
          usingCurrent((store, times) => core.rewrite(store, claim, times)),
          (written) => (written ? Effect.void : lost(claim))
        )
    })
  })

const held = ({ host, pid }: LeaseHolder): Effect.Effect<never, LeaseHeld> =>
  Effect.fail(
    new LeaseHeld({
      host,
      pid,
      message: `Already running with PID ${pid}.`,
      action: "Use the running service, or stop it first."
    })
  )

const statusOf = (row: LeaseRow | undefined, now: number): LeaseStatus => {
  if (row === undefined || row.holder === null) return { epoch: row?.epoch ?? 0, live: false, holder: null }
  const { lockInode: _, tokenHash: __, ...holder } = row.holder
  return { epoch: row.epoch, live: holder.expiresAt > now, holder }
}
