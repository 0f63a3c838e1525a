/** Keeps a service there for as long as the screen is: started once, waited for whenever it is away. */
import type { PromiseServiceClient } from "@holdfast/client/promise"
import type { ServiceState } from "@holdfast/client/ServiceState"
import { codesearch } from "../service.ts"
import { troubleIn } from "./answers.ts"
import { pause, within } from "./pause.ts"
import type { Trouble } from "./State.ts"

/** A launch replaces an instance whose boot failed, once that is longer ago than this. */
const stale = 10_500

/** How long a service that failed to boot is left alone, by how often it did in a row. */
export const patience = (failures: number): number => Math.min(stale * 2 ** Math.max(failures - 1, 0), 30_000)

const isAway = ({ status }: ServiceState): boolean => status.type !== "ready"

const hasFailed = ({ status }: ServiceState): boolean => status.type === "failed"

/** What is started again: our own version. Another one that failed belongs to whoever started it. */
const isOurs = ({ health }: ServiceState): boolean => health === null || health.version === codesearch.version

/** Until `holds`, or the signal. */
export const until = (service: PromiseServiceClient, signal: AbortSignal, holds: (state: ServiceState) => boolean) =>
  new Promise<void>((resolve) => {
    const look = () => {
      if (!signal.aborted && !holds(service.current())) return
      unsubscribe()
      signal.removeEventListener("abort", look)
      resolve()
    }
    const unsubscribe = service.subscribe(look)
    signal.addEventListener("abort", look)
    look()
  })

/** For ever, until the signal. `tell` hears what stands in the way, and `undefined` once nothing does. */
export const keep = async (
  service: PromiseServiceClient,
  signal: AbortSignal,
  tell: (trouble: Trouble | undefined) => void
): Promise<void> => {
  const attempt = async (ask: (signal: AbortSignal) => Promise<unknown>, whileIt: (state: ServiceState) => boolean) => {
    const one = within(signal)
    void until(service, one.signal, (state) => !whileIt(state)).then(one.end)
    try {
      await ask(one.signal)
      tell(undefined)
    } catch (error) {
      if (!one.signal.aborted) tell(troubleIn(error))
      return isMismatch(error)
    } finally {
      one.end()
    }
    return false
  }
  const launch = (signal: AbortSignal) => service.launch({ version: codesearch.version, signal })
  let failures = 0
  // what it would replace again is what another program has asked for since: only at the start, and once
  const stays = await attempt(launch, () => true)
  for (let ms = 1000; !signal.aborted;) {
    await until(service, signal, isAway)
    if (signal.aborted) return
    if (hasFailed(service.current()) && isOurs(service.current())) {
      const one = within(signal)
      await Promise.race([
        pause(patience(++failures), one.signal),
        until(service, one.signal, (now) => !hasFailed(now))
      ])
      one.end()
      if (hasFailed(service.current())) await attempt(launch, () => true)
    } else {
      const settled = (state: ServiceState) => !isAway(state) || hasFailed(state)
      await attempt(
        (signal) => service.reconnect({ signal }),
        (state) => !settled(state)
      )
      if (!settled(service.current())) await pause(ms, signal)
      ms = settled(service.current()) ? 1000 : Math.min(ms * 2, 5000)
    }
    if (isAway(service.current())) continue
    failures = 0
    if (!stays) tell(undefined)
  }
}

const isMismatch = (error: unknown): boolean => (error as { readonly _tag?: unknown })._tag === "VersionMismatch"
