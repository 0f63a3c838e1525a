import type { HeldLock } from "../gate.ts"
import type { Grip } from "./primitive.ts"

const grips = new WeakMap<HeldLock, Grip>()

/** Wraps a grip so that it can be handed on once. */
export const seal = (grip: Grip, path: string, primitive: string): HeldLock => {
  const lock: HeldLock = { "~@holdfast/lock/HeldLock": undefined, path, heldInode: grip.inode() ?? null, primitive }
  grips.set(lock, grip)
  // a lock that nobody adopted yet must not be collected with its handle: it is held until the process ends
  pinned.add(lock)
  return lock
}

const pinned = new Set<HeldLock>()

/** The descriptor of a lock that nobody adopted yet. */
export const descriptorOf = (lock: HeldLock): number | undefined => grips.get(lock)?.descriptor

/** The grip, once; `undefined` the second time. */
export const unseal = (lock: HeldLock): Grip | undefined => {
  const grip = grips.get(lock)
  grips.delete(lock)
  pinned.delete(lock)
  return grip
}
