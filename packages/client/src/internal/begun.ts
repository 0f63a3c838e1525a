/** Contenders that were started before Effect was loaded, for the first client that wants one. */
import type { Spawned } from "./spawning.ts"

const begun = new Map<string, Promise<Spawned>>()

/** `lock` is the service's lock file: it names the service. */
export const put = (lock: string, spawned: Promise<Spawned>): void => void begun.set(lock, spawned)

/** Once; `undefined` when none was begun, or it was taken. */
export const takeOut = (lock: string): Promise<Spawned> | undefined => {
  const found = begun.get(lock)
  begun.delete(lock)
  return found
}
