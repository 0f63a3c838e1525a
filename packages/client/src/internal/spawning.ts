/** Starting a contender when it is this client's turn: the spawn lock, another look at the files, the shared budget. */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as identity from "@holdfast/lock/identity"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as StateDirectory from "@holdfast/lock/StateDirectory"
import { type Budget, crashed, empty, started } from "./budget.ts"
import { type Contender, start } from "./contender.ts"
import { look } from "./look.ts"
import { type SpawnLock, take, takeAnyway, without } from "./spawnLock.ts"

/** What a client knows when it wants a contender. */
export interface Wanting {
  /** The instance it has found of no use; any other one that lives is worth a look before a start. */
  readonly unlike?: string | undefined
  /** Somebody else has held the spawn lock for too long: start all the same. */
  readonly anyway: boolean
  /** A person asked for it: the budget begins anew. */
  readonly asked: boolean
  /** The spawn lock, where this client has it already; it is let go of. */
  readonly held?: SpawnLock | undefined
  /** This client still loads its own modules: it hears the startup pipe, and asks nothing before the service is ready. */
  readonly unasked?: boolean
}

export type Spawned =
  | { readonly _tag: "Started"; readonly contender: Contender }
  /** Somebody else is starting one; `stuck` when nobody is known to get on with it; and what went wrong before. */
  | { readonly _tag: "Queued"; readonly stuck: boolean; readonly budget: Budget }
  /** The service was started too often: not before so many milliseconds, and what went wrong meanwhile. */
  | { readonly _tag: "TooOften"; readonly ms: number; readonly budget: Budget }
  /** There is an owner by now. */
  | { readonly _tag: "Found" }

const jitter = (): number => 0.8 + 0.4 * Math.random()

/** Somebody lives there who may be the owner, and is not the one that was of no use. */
const isOwned = (paths: ServicePaths, unlike: string | undefined): boolean => {
  const seen = look(paths)
  if (seen._tag === "Missing") return seen.holder !== undefined && seen.holder.instanceID !== unlike
  return seen._tag === "Registered" && seen.owner === "alive" && seen.registration.instanceID !== unlike
}

/** The state directory must be prepared. Throws the system's error when the contender cannot be started. */
export const spawn = async (
  spec: ServiceSpec,
  paths: ServicePaths,
  { anyway, asked, held, unasked, unlike }: Wanting
): Promise<Spawned> => {
  const turn = await (held !== undefined
    ? { _tag: "Ours" as const, lock: held }
    : anyway
      ? takeAnyway(paths)
      : take(paths))
  if (turn._tag === "Taken") return { _tag: "Queued", stuck: turn.stuck, budget: turn.budget }
  const { lock } = turn
  try {
    if (isOwned(paths, unlike)) return { _tag: "Found" }
    const budget = asked ? empty(identity.boot()) : lock.budget()
    const now = Date.now()
    if (now < budget.notBefore) return { _tag: "TooOften", ms: budget.notBefore - now, budget }
    const next = started(budget, now, jitter())
    // nobody else who does without the lock may think, while this start takes its time, that none gets on
    lock.write(anyway ? { ...next, starter: identity.own() } : next)
    const contender = start(spec, paths, { spawnLock: lock.descriptor, unasked })
    // whoever waits can see that somebody gets on with it; only now, since an identity takes a client 10 ms
    const starter = identity.ofPid(contender.pid)
    if (starter !== undefined) lock.write({ ...next, starter })
    return { _tag: "Started", contender }
  } finally {
    lock.release()
  }
}

/**
 * Keeps the others from starting one while an owner is replaced, and until this client has started the next: theirs could
 * be of the version that is to go. `undefined` when somebody else has the lock, which is no harm: the service's own lock
 * decides.
 */
export const hold = async (paths: ServicePaths): Promise<SpawnLock | undefined> => {
  if (StateDirectory.inspect(paths.directory) !== undefined) return undefined
  const turn = await take(paths)
  if (turn._tag === "Taken") return undefined
  turn.lock.write({ ...turn.lock.budget(), starter: identity.own(), at: Date.now() })
  return turn.lock
}

/**
 * Tells the other clients how the start ended, also while one of them starts the next: what the two write over each other
 * is worth less than that all of them start it once more.
 */
export const tellCrash = async (paths: ServicePaths, words: string): Promise<void> => {
  const turn = await take(paths)
  const lock = turn._tag === "Ours" ? turn.lock : without(paths)
  lock.write(crashed(lock.budget(), words, Date.now()))
  lock.release()
}
