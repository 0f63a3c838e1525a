/** The state that a client shows, from looks that run side by side and from what is heard meanwhile. */
import type { ServiceHealth } from "@holdfast/lifecycle/ServiceHealth"
import * as Effect from "effect/Effect"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { Discovery } from "../Discovery.ts"
import { missing, type ServiceState } from "../ServiceState.ts"
import { type Found, stateOf } from "./decide.ts"
import { shown, type Silence } from "./follow.ts"

/** The life of one instance goes one way. */
const order: Readonly<Record<string, number>> = { starting: 0, ready: 1, failed: 1, stopping: 2 }

/** News of an instance that was shown further on already: it was said before, and heard late. */
export const isStale = (before: ServiceState, { registration, status }: ServiceState): boolean =>
  registration !== null &&
  registration.instanceID === before.registration?.instanceID &&
  (order[status.type] ?? Infinity) < (order[before.status.type] ?? 0)

export interface ShownState {
  readonly current: SubscriptionRef.SubscriptionRef<ServiceState>
  /** The discovery whose looks are told apart by when they began. */
  readonly discovery: Discovery["Service"]
  /** Shows what was found, unless something newer is shown: a look that began earlier may end later. */
  readonly publish: (found: Found, silence?: Silence, now?: number) => Effect.Effect<void>
  /** Shows what the owner says itself, in this moment; whom another look has found gone, it does not bring back. */
  readonly hear: (found: Extract<Found, { readonly _tag: "Reachable" }>, health: ServiceHealth) => Effect.Effect<void>
  /** What was shown last, as it was found. */
  readonly seen: () => Found | undefined
}

export const make = (discovery: Discovery["Service"], heed: (state: ServiceState) => void): Effect.Effect<ShownState> =>
  Effect.gen(function* () {
    const current = yield* SubscriptionRef.make(missing)
    const began = new WeakMap<Found, number>()
    let looks = 0
    let newest = 0
    let seen: Found | undefined
    const set = (next: (before: ServiceState) => ServiceState) =>
      SubscriptionRef.update(current, (before) => {
        const state = next(before)
        if (isStale(before, state)) return before
        heed(state)
        return JSON.stringify(before) === JSON.stringify(state) ? before : state // the same object until it changes
      })
    const hear: ShownState["hear"] = (found, health) =>
      Effect.suspend(() => {
        newest = ++looks
        return set((before) =>
          before.registration?.instanceID === health.instanceID ? stateOf({ ...found, health }) : before
        )
      })
    return {
      current,
      discovery: {
        ...discovery,
        look: Effect.suspend(() => {
          const number = ++looks
          return Effect.tap(discovery.look, (found) => Effect.sync(() => began.set(found, number)))
        })
      },
      publish: (found, silence, now = 0) =>
        Effect.suspend(() => {
          const looked = began.get(found)
          // no look, but what the owner has just answered
          if (looked === undefined && found._tag === "Reachable") return hear(found, found.health)
          const number = looked ?? ++looks
          if (number < newest) return Effect.void
          newest = number
          seen = found
          return set((before) => shown(found, silence, now, before))
        }),
      hear,
      seen: () => seen
    }
  })
