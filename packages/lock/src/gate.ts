/**
 * The acquisition for a contender's first milliseconds: who may be the owner is settled before anything else is loaded.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import { adopt, attempt, deviceOf } from "./internal/acquire.ts"
import { descriptorOf, seal, unseal } from "./internal/heldLock.ts"
import { primitiveFor } from "./internal/loaded.ts"
import * as OwnerNote from "./OwnerNote.ts"

/**
 * The lock, held by this process. Opaque and single-use: hand it to `ProcessLock.layerAdopted`. Until then, and when
 * nobody adopts it, it is held to the end of the process.
 *
 * @category models
 * @since 0.1.0
 */
export interface HeldLock {
  readonly "~@holdfast/lock/HeldLock": unknown
  readonly path: string
  /** `<device>:<inode>` of the file that is held; `null` where the platform refuses its deletion instead. */
  readonly heldInode: string | null
  /** The primitive it is held by, for diagnostics. */
  readonly primitive: string
}

/**
 * What became of an attempt. Only `Acquired` may go on; `Unsupported` is never "fine".
 *
 * @category models
 * @since 0.1.0
 */
export type GateOutcome =
  | { readonly _tag: "Acquired"; readonly lock: HeldLock }
  | { readonly _tag: "Held"; readonly path: string; readonly holder: OwnerNote.OwnerNote | undefined }
  | {
      readonly _tag: "Unsupported" | "Failed"
      readonly path: string
      readonly code: string
      readonly message: string
      readonly action: string
    }

/**
 * Options of `enter`.
 *
 * @category models
 * @since 0.1.0
 */
export interface GateOptions {
  /** How long a refused attempt is repeated, in milliseconds; the kernel tears a large dead owner down for 0.3 s. */
  readonly retryForMs?: number
  /** A descriptor inherited from a client that already locked the file. */
  readonly inherited?: number
  /** The owner's note; when it names a running process, its holder is believed and the lock not touched. */
  readonly note?: string
}

const pauseMs = 15

/** Not `performance`, whose first use costs a contender that loses 2 ms. */
const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6

/**
 * Takes the lock at `path`, or says who has it.
 *
 * **When to use** As the first thing a contender does, before it loads what only an owner needs. In a program that has
 * loaded Effect already, `ProcessLock.layer` does the same.
 *
 * **Details** Without waiting, but for `retryForMs` (1,000) after a refusal while the owner's note does not name a
 * running process: it may have just died. The lock file is created with mode 0600 and never removed.
 *
 * **Gotchas** The directory must exist (`StateDirectory.prepare`). Nothing is thrown; what is not `Acquired` is not ours.
 *
 * **Example**
 *
 * ```ts
 * import { enter } from "@holdfast/lock/gate"
 *
 * export const main = async (): Promise<void> => {
 *   const outcome = await enter("/tmp/hello/service.lock")
 *   if (outcome._tag !== "Acquired") process.exit(0)
 *   await import("./main.ts")
 * }
 * ```
 *
 * Source: service-lifecycle.md "Election"; DESIGN §3.
 *
 * @category constructors
 * @since 0.1.0
 */
export const enter = async (path: string, options: GateOptions = {}): Promise<GateOutcome> => {
  if (options.inherited !== undefined) {
    const adopted = adopt(options.inherited, path)
    if (adopted._tag === "Taken") {
      return { _tag: "Acquired", lock: seal(adopted.grip, path, adopted.primitive) }
    }
  }
  const holder = () => (options.note === undefined ? undefined : OwnerNote.living(options.note, path))
  const deadline = monotonicMs() + (options.retryForMs ?? 1000)
  for (;;) {
    const living = holder()
    if (living !== undefined) return { _tag: "Held", path, holder: living }
    const outcome = attempt(path)
    if (outcome._tag === "Taken") {
      return { _tag: "Acquired", lock: seal(outcome.grip, path, outcome.primitive) }
    }
    if (outcome._tag !== "Refused") return outcome
    if (monotonicMs() >= deadline) return { _tag: "Held", path, holder: holder() }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/**
 * The descriptor that holds the lock, for a child that is to hold it as well: it stays locked until both have closed it.
 * `undefined` on Windows, where none is inherited, and after the lock was adopted.
 *
 * **When to use** To start a contender under a lock that this process took for it. The child says
 * `enter(path, { inherited: 3 })`.
 *
 * **Example**
 *
 * ```ts
 * import { enter, inheritable, release } from "@holdfast/lock/gate"
 * import { spawn } from "node:child_process"
 *
 * export const startUnder = async (lock: string, program: string): Promise<void> => {
 *   const outcome = await enter(lock)
 *   if (outcome._tag !== "Acquired") return
 *   spawn(program, { detached: true, stdio: ["ignore", "ignore", "ignore", inheritable(outcome.lock) ?? "ignore"] })
 *   release(outcome.lock) // the child still holds it
 * }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const inheritable = (lock: HeldLock): number | undefined => descriptorOf(lock)

/**
 * Lets go of a lock that nobody adopted, by closing it; a child that inherited its descriptor goes on holding it.
 *
 * **Details** A lock that was adopted is left alone: whoever adopted it lets go of it.
 *
 * **When to use** For a lock that was taken for a moment, or for a child.
 *
 * **Example**
 *
 * ```ts
 * import { enter, release } from "@holdfast/lock/gate"
 *
 * // Whether nobody runs, by the one proof there is.
 * export const isFree = async (path: string): Promise<boolean> => {
 *   const outcome = await enter(path, { retryForMs: 0 })
 *   if (outcome._tag === "Acquired") release(outcome.lock)
 *   return outcome._tag === "Acquired"
 * }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const release = (lock: HeldLock): void => unseal(lock)?.close()

/**
 * By what the lock at `path` would be taken, or why it could not be. Takes nothing and creates nothing, so that a lock
 * that lets two in on this file system is not noticed here.
 *
 * **When to use** For people and diagnostics.
 *
 * **Example**
 *
 * ```ts
 * import { primitiveAt } from "@holdfast/lock/gate"
 *
 * export const line = (path: string): string => {
 *   const found = primitiveAt(path)
 *   return "name" in found ? `locked by ${found.name}` : `cannot be locked: ${found.why}`
 * }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const primitiveAt = (path: string): { readonly name: string } | { readonly why: string } => {
  const primitive = primitiveFor(() => deviceOf(path))
  return typeof primitive === "string" ? { why: primitive } : { name: primitive.name }
}
