/** Where Effect begins: the owner's scope, from `starting` to the end of the process. */
import type { HeldLock } from "@holdfast/lock/gate"
import type { Claim } from "@holdfast/lock/lease"
import { Ownership } from "@holdfast/lock/Ownership"
import { ProcessLock } from "@holdfast/lock/ProcessLock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Application } from "../Application.ts"
import { serve } from "../ManagedService.ts"
import type { Owner } from "./owner.ts"

/** Resolves when the service was stopped. The lock is let go by the end of the process, not before. */
export const run = (
  lock: HeldLock | undefined,
  claim: Claim,
  owner: Owner,
  application: () => Promise<{ readonly default: Application }>
): Promise<void> =>
  Effect.gen(function* () {
    yield* Effect.logInfo(
      `starting ${owner.spec.app} ${owner.spec.version}, instance ${owner.shell.instanceID}, pid ${process.pid}`
    )
    const service = yield* serve(owner, application)
    yield* service.stopped
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Ownership.layerAdopted(claim, { policy: owner.spec.policy ?? "strict" }).pipe(
        Layer.provideMerge(
          lock === undefined
            ? ProcessLock.layerWaiting(owner.paths.lock)
            : ProcessLock.layerAdopted(lock, { release: "process" })
        )
      )
    ),
    Effect.runPromise
  )
