/** Where Effect begins: the owner's scope, from `starting` to the end of the process. */
import type { HeldLock } from "@holdfast/lock/gate"
import type { Claim } from "@holdfast/lock/lease"
import { Ownership } from "@holdfast/lock/Ownership"
import { ProcessLock } from "@holdfast/lock/ProcessLock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { type ApplicationModule, serve } from "../ManagedService.ts"
import { loggerOf } from "../ServiceLog.ts"
import type { LogFile } from "./logFile.ts"
import type { Owner } from "./owner.ts"

/** Resolves when the service was stopped. The lock is let go by the end of the process, not before. */
export const run = (
  lock: HeldLock | undefined,
  claim: Claim,
  owner: Owner,
  log: LogFile,
  application: ApplicationModule
): Promise<void> =>
  Effect.gen(function* () {
    yield* Effect.logInfo(
      `starting ${owner.spec.app} ${owner.spec.version}, epoch ${claim.epoch}, instance ${owner.shell.instanceID}, pid ${process.pid}, ${runtime()}, ${descriptors()}`
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
        ),
        Layer.provideMerge(Logger.layer([loggerOf(log)]))
      )
    ),
    Effect.runPromise
  )

const runtime = (): string =>
  process.versions["bun"] === undefined ? `Node ${process.version}` : `Bun ${process.versions["bun"]}`

/** A service with many connections or watched files may come to this limit, and then it says so nowhere else. */
const descriptors = (): string => {
  try {
    const limits = process.getBuiltinModule("node:fs").readFileSync("/proc/self/limits", "utf8")
    return `at most ${/^Max open files\s+(\w+)/m.exec(limits)?.[1]} open files`
  } catch {
    return "limit of open files unknown"
  }
}
