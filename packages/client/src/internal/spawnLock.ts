/**
 * One client at a time starts a contender, which inherits the lock and holds it until it is registered or has ended. It
 * only saves processes: who owns is decided by the service's own lock, so whatever goes wrong here is no error.
 */
import * as fileSystem from "@holdfast/lock/fileSystem"
import * as files from "@holdfast/lock/files"
import { enter, inheritable, release } from "@holdfast/lock/gate"
import * as identity from "@holdfast/lock/identity"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Budget from "./budget.ts"

export interface SpawnLock {
  /** What the contender is to inherit; `undefined` where nothing is inherited. */
  readonly descriptor: number | undefined
  readonly budget: () => Budget.Budget
  readonly write: (budget: Budget.Budget) => void
  /** Lets go; a contender that inherited it holds on. */
  readonly release: () => void
}

export type Turn =
  | { readonly _tag: "Ours"; readonly lock: SpawnLock }
  /** Another client, or the contender it started, has it. `stuck`: nobody there is known to get on with it. */
  | { readonly _tag: "Taken"; readonly stuck: boolean; readonly budget: Budget.Budget }

const readRecord = (paths: ServicePaths): Budget.Budget => {
  const reading = files.read(paths.budget)
  return Budget.read(reading._tag === "Text" ? reading.text : "", identity.boot(), Date.now())
}

const lockOf = (paths: ServicePaths, descriptor: number | undefined, letGo: () => void): SpawnLock => ({
  descriptor,
  budget: () => readRecord(paths),
  write: (budget) => void files.rewrite(paths.budget, JSON.stringify(budget)), // a full disk is no reason not to start
  release: letGo
})

/** After this long a start that got on has either come to something or never will. */
const startMs = 10_000

/**
 * One attempt, not waiting for anybody. Where no lock can be had it is everybody's turn; so it is on a file system of
 * several machines, whose server may keep a lock call waiting for ever: a client must not hang to save a process.
 */
export const take = async (paths: ServicePaths): Promise<Turn> => {
  if (fileSystem.of(paths.spawnLock)?.remote === true) return { _tag: "Ours", lock: without(paths) }
  const outcome = await enter(paths.spawnLock, { retryForMs: 0 })
  if (outcome._tag === "Held") {
    const budget = readRecord(paths)
    return { _tag: "Taken", stuck: !getsOn(budget), budget }
  }
  return outcome._tag === "Acquired"
    ? { _tag: "Ours", lock: lockOf(paths, inheritable(outcome.lock), () => release(outcome.lock)) }
    : { _tag: "Ours", lock: without(paths) }
}

/** For who has waited for the lock too long: the record without the lock, unless another such start gets on by now. */
export const takeAnyway = (paths: ServicePaths): Turn => {
  const record = readRecord(paths)
  const ours = record.starter?.pid === process.pid // a start of ours that came to nothing
  return !ours && getsOn(record) && Date.now() - record.at < startMs
    ? { _tag: "Taken", stuck: false, budget: record }
    : { _tag: "Ours", lock: without(paths) }
}

/** The record, for who does not hold the lock. */
export const without = (paths: ServicePaths): SpawnLock => lockOf(paths, undefined, () => undefined)

const getsOn = ({ starter }: Budget.Budget): boolean =>
  starter !== undefined && identity.state(starter) === "alive" && !identity.isStopped(starter)
