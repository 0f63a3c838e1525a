/**
 * The process-held OS lock as a scoped service.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fileSystem from "./fileSystem.ts"
import type { GateOutcome, HeldLock } from "./gate.ts"
import { enter } from "./gate.ts"
import { attempt } from "./internal/acquire.ts"
import { unseal } from "./internal/heldLock.ts"
import type { Grip } from "./internal/primitive.ts"
import { type LockError, LockFailed, LockHeld, LockUnsupported } from "./LockError.ts"
import { inodeOf } from "./OwnerNote.ts"

export { LockFailed, LockHeld, LockUnsupported, type LockError } from "./LockError.ts"

type NotAcquired = Exclude<GateOutcome, { readonly _tag: "Acquired" }>

/** The gate's plain outcome as a typed error. */
const toError = (outcome: NotAcquired): LockError => {
  const { path } = outcome
  switch (outcome._tag) {
    case "Held": {
      const pid = outcome.holder?.pid
      return new LockHeld({
        path,
        ...(pid === undefined ? {} : { pid }),
        message:
          pid === undefined ? `The lock ${path} is held by another process.` : `Already running with PID ${pid}.`,
        action: "Use the running service, or stop it first."
      })
    }
    case "Unsupported":
      return new LockUnsupported({
        path,
        filesystem: fileSystem.of(path)?.name ?? "unknown",
        message: outcome.message,
        action: outcome.action
      })
    case "Failed":
      return new LockFailed({ path, code: outcome.code, message: outcome.message, action: outcome.action })
  }
}

/**
 * Exactly one process at a time has this service for one path: the kernel holds the lock and frees it on any death.
 *
 * **When to use** As what must be provided before anything that only the owner may do.
 *
 * **Details** `stillOurs` is `false` when the path names another file by now (deleted, moved, replaced): the lock on
 * the old one still holds, but newcomers lock the new one. It does not take or probe the lock. `reanchor` locks the file
 * now there, creating it where it is missing; `false` while another process holds that one. `inode` is that of the file
 * held last, `null` where the platform refuses its deletion instead.
 *
 * **Gotchas** Advisory: it excludes processes that use this lock, nobody else. On file systems whose locks are not
 * honest the layer fails with `LockUnsupported`.
 *
 * **Example**
 *
 * ```ts
 * import { ProcessLock } from "@holdfast/lock/ProcessLock"
 * import * as Effect from "effect/Effect"
 *
 * export const alone = Effect.gen(function*() {
 *   const lock = yield* ProcessLock
 *   return lock.primitive
 * }).pipe(Effect.provide(ProcessLock.layer("/tmp/hello.lock")))
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class ProcessLock extends Context.Service<
  ProcessLock,
  HeldLock & {
    readonly inode: Effect.Effect<string | null>
    readonly stillOurs: Effect.Effect<boolean>
    readonly reanchor: Effect.Effect<boolean>
  }
>()("@holdfast/lock/ProcessLock") {
  /** Takes the lock for the life of the scope; a refusal is repeated for one second. */
  static readonly layer = (path: string): Layer.Layer<ProcessLock, LockError> =>
    Layer.effect(
      ProcessLock,
      Effect.gen(function* () {
        const outcome = yield* Effect.promise(() => enter(path))
        if (outcome._tag !== "Acquired") return yield* toError(outcome)
        return yield* adopted(outcome.lock, "scope")
      }).pipe(Effect.uninterruptible)
    )

  /**
   * Goes on with a lock that the gate took.
   *
   * **Details** `release: "process"` keeps it beyond the scope, to the end of the process. Adopting a lock twice is a
   * defect.
   */
  static readonly layerAdopted = (
    lock: HeldLock,
    options?: { readonly release?: "scope" | "process" }
  ): Layer.Layer<ProcessLock> => Layer.effect(ProcessLock, adopted(lock, options?.release ?? "scope"))

  /**
   * Holds nothing yet: `reanchor` takes the lock when it is free. For the policy `fenced`, whose owner goes on without.
   */
  static readonly layerWaiting = (path: string): Layer.Layer<ProcessLock> => Layer.effect(ProcessLock, waiting(path))
}

const adopted = (lock: HeldLock, release: "scope" | "process") =>
  Effect.suspend(() => {
    const first = unseal(lock)
    return first === undefined
      ? Effect.die(new Error(`The lock ${lock.path} was adopted before.`))
      : holding(lock, [first], release)
  })

const waiting = (path: string) =>
  holding({ "~@holdfast/lock/HeldLock": undefined, path, primitive: "none yet", heldInode: null }, [], "process")

/** An owner whose file was replaced holds the old one and the new one: newcomers may still open either. */
const holding = (lock: HeldLock, grips: Array<Grip>, release: "scope" | "process") =>
  Effect.gen(function* () {
    const close = () => {
      for (const grip of grips) grip.close()
    }
    if (release === "scope") yield* Effect.addFinalizer(() => Effect.sync(close))
    else process.once("exit", close) // keeps the grips reachable; the kernel would free them anyway
    const inode = () => grips.at(-1)?.inode()
    const stillOurs = () => grips.length > 0 && (inode() === undefined || inode() === inodeOf(lock.path))
    return ProcessLock.of({
      ...lock,
      inode: Effect.sync(() => inode() ?? null),
      stillOurs: Effect.sync(stillOurs),
      reanchor: Effect.sync(() => {
        if (stillOurs()) return true
        const taken = attempt(lock.path)
        if (taken._tag !== "Taken") return false
        grips.push(taken.grip)
        return true
      })
    })
  })
