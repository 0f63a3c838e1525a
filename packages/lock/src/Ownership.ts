/**
 * Owning a service: the lock, and the lease with its epoch, for the life of a scope.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as identity from "./identity.ts"
import type { ClaimSuperseded, LeaseHeld, LeaseUnavailable } from "./LeaseError.ts"
import { provable } from "./lease.ts"
import * as LeaseHeartbeat from "./LeaseHeartbeat.ts"
import { type Claim, LeaseStore, type Probe } from "./LeaseStore.ts"
import { ProcessLock } from "./ProcessLock.ts"
import { besideLock } from "./ServicePaths.ts"

export { ClaimSuperseded, LeaseHeld, LeaseUnavailable } from "./LeaseError.ts"

/**
 * Who owns where two may believe so. `strict` (the default): the lock; an owner that does not respond is never displaced
 * by itself. `fenced`: the epoch; for file systems whose locks cannot be trusted, and for services where a deaf holder must
 * not block. Then an application's writes need a `Fence`.
 *
 * @category models
 * @since 0.1.0
 */
export type Policy = { readonly _tag: "strict" } | { readonly _tag: "fenced"; readonly probe: Probe }

/**
 * The one owner of a service.
 *
 * **Details**
 *
 * - `epoch`: greater than every earlier owner's. It grows once more when a fence has already accepted it or a higher
 *   one, which happens only where the lease was recreated; so read it when you need it.
 * - `lost`: returns when another owner was crowned. Stop then, and remove nothing: what is there is the successor's.
 * - `recent`: whether this owner may act now, after whatever gap; it renews first where that is needed.
 * - `isRecent`: the same without renewing.
 * - `assert`: `recent`, and the lock's path names a file we hold. Ask it before writing what says that we own.
 * - `advance`: for a fence.
 *
 * The claim is given up when the scope closes; the epoch stays in the store.
 *
 * **Example**
 *
 * ```ts
 * import { Ownership } from "@holdfast/lock/Ownership"
 * import { ProcessLock } from "@holdfast/lock/ProcessLock"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * export const program = Effect.gen(function*() {
 *   const ownership = yield* Ownership
 *   yield* Effect.log(`I am owner number ${ownership.epoch}`)
 *   return yield* ownership.lost
 * }).pipe(Effect.provide(Ownership.layer().pipe(Layer.provide(ProcessLock.layer("/tmp/hello/service.lock")))))
 * ```
 *
 * **When to use** As what must be provided where only the one owner may act, and whoever was owner before must notice.
 *
 * Source: wake-recovery-plan.md "Approach"; DESIGN §3.
 *
 * @category services
 * @since 0.1.0
 */
export class Ownership extends Context.Service<
  Ownership,
  {
    readonly epoch: number
    readonly instanceID: string
    readonly lost: Effect.Effect<ClaimSuperseded>
    readonly recent: Effect.Effect<boolean>
    readonly isRecent: () => boolean
    readonly assert: Effect.Effect<boolean>
    readonly advance: (past: number) => Effect.Effect<number, ClaimSuperseded | LeaseUnavailable>
  }
>()("@holdfast/lock/Ownership") {
  /** Claims the lease beside the lock. Throws one sentence when the times cannot work. */
  static readonly layer = (
    options?: LeaseHeartbeat.LeaseTimes & { readonly policy?: Policy }
  ): Layer.Layer<Ownership, LeaseHeld | LeaseUnavailable, ProcessLock> => {
    const times = LeaseHeartbeat.checkTimes(options)
    return withStore(times.leaseMs, (store) =>
      Effect.gen(function* () {
        const lock = yield* ProcessLock
        const instanceID = yield* Effect.sync(() => process.getBuiltinModule("node:crypto").randomUUID())
        const claimant = { instanceID, identity: identity.own(), lockInode: provable(lock.path, yield* lock.inode) }
        const probe = options?.policy?._tag === "fenced" ? options.policy.probe : undefined
        return yield* keep(store, yield* store.claim(claimant, probe), times, probe !== undefined)
      })
    )
  }

  /** Goes on with a claim that was made before Effect was loaded. */
  static readonly layerAdopted = (
    claim: Claim,
    options?: LeaseHeartbeat.LeaseTimes & { readonly policy?: Policy["_tag"] }
  ): Layer.Layer<Ownership, never, ProcessLock> => {
    const times = LeaseHeartbeat.checkTimes(options)
    return withStore(times.leaseMs, (store) => keep(store, claim, times, options?.policy === "fenced"))
  }

  /** Owner number 1 of nothing; for tests of what asks for an owner. */
  static readonly layerMemory: Layer.Layer<Ownership> = Layer.sync(Ownership, () => {
    let epoch = 1
    return Ownership.of({
      get epoch() {
        return epoch
      },
      instanceID: "in-memory",
      lost: Effect.never,
      recent: Effect.succeed(true),
      isRecent: () => true,
      assert: Effect.succeed(true),
      advance: (past) => Effect.sync(() => (epoch = Math.max(epoch, past) + 1))
    })
  })
}

const withStore = <E, R>(
  leaseMs: number,
  body: (store: LeaseStore["Service"]) => Effect.Effect<Ownership["Service"], E, R>
): Layer.Layer<Ownership, E, Exclude<R, Scope.Scope> | ProcessLock> =>
  Layer.unwrap(
    Effect.map(ProcessLock, ({ path }) =>
      Layer.effect(Ownership, Effect.flatMap(LeaseStore, body)).pipe(
        Layer.provide(LeaseStore.layerSqlite(besideLock(path).lease, { lease: leaseMs }))
      )
    )
  ) as Layer.Layer<Ownership, E, Exclude<R, Scope.Scope> | ProcessLock>

const keep = (
  store: LeaseStore["Service"],
  claim: Claim,
  times: ReturnType<typeof LeaseHeartbeat.checkTimes>,
  fenced: boolean
) =>
  Effect.gen(function* () {
    const lock = yield* ProcessLock
    // given up last, after the heartbeat has ended
    const kept = { claim: () => claim }
    yield* Effect.addFinalizer(() => Effect.ignore(Effect.suspend(() => store.release(kept.claim()))))
    const heartbeat = yield* LeaseHeartbeat.make({ store, lock, claim, times, fenced })
    const { advance, assert, isRecent, lost, recent } = heartbeat
    const current = (kept.claim = heartbeat.claim)
    return Ownership.of({
      get epoch() {
        return current().epoch
      },
      instanceID: claim.instanceID,
      lost,
      recent,
      isRecent,
      assert,
      advance
    })
  })
