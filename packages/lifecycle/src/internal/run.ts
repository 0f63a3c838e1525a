/** Where Effect begins: the owner's scope, from `starting` to the end of the process. */
import type { HeldLock } from "@holdfast/lock/gate"
import { ProcessLock } from "@holdfast/lock/ProcessLock"
import * as Effect from "effect/Effect"
import type { Application } from "../Application.ts"
import { serve } from "../ManagedService.ts"
import type { Owner } from "./owner.ts"

/** Resolves when the service was stopped. The lock is let go by the end of the process, not before. */
export const run = (
  lock: HeldLock,
  owner: Owner,
  application: () => Promise<{ readonly default: Application }>
): Promise<void> =>
  Effect.gen(function* () {
    yield* Effect.logInfo(
      `starting ${owner.spec.app} ${owner.spec.version}, instance ${owner.shell.instanceID}, pid ${process.pid}`
    )
    const service = yield* serve(yield* ProcessLock, owner, application)
    yield* service.stopped
  }).pipe(Effect.scoped, Effect.provide(ProcessLock.layerAdopted(lock, { release: "process" })), Effect.runPromise)
