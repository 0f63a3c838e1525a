/** What a waiting client hears: its contender, the service's files, and an owner that is not ready yet. */
import type { Session } from "@holdfast/lifecycle/Credential"
import type { ServiceHealth } from "@holdfast/lifecycle/ServiceHealth"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Contender, ContenderEvent } from "../Spawner.ts"
import { watchRecords } from "./directoryWatch.ts"
import { healthEvents } from "./healthEvents.ts"

/** `from`: the pid of the contender that it was heard of; one that lost may end after the next was started. */
export type Heard = (ContenderEvent & { readonly from: number }) | { readonly type: "changed" }

export interface Hearing {
  /** Listens to this contender too. */
  readonly toContender: (contender: Contender) => Effect.Effect<void, never, Scope.Scope>
  /**
   * Listens to this owner too, which says when it is ready; to nobody twice. A stream that ended is opened again, but not
   * at once: `false` then.
   */
  readonly toOwner: (
    session: Session,
    onHealth?: (health: ServiceHealth) => Effect.Effect<void>
  ) => Effect.Effect<boolean, never, Scope.Scope>
  /** What is heard next; nothing after so many milliseconds, a fifth more or less. */
  readonly next: (withinMs: number) => Effect.Effect<Heard | undefined>
}

/** Nanoseconds before a stream that ended is opened again: an owner that stops ends it, and answers for a while. */
const pause = 200_000_000n

export const jittered = (ms: number): Effect.Effect<number> =>
  Effect.map(Random.next, (random) => Math.round(ms * (0.8 + 0.4 * random)))

export const make = (paths: ServicePaths): Effect.Effect<Hearing, never, Scope.Scope> =>
  Effect.gen(function* () {
    const heard = yield* Queue.unbounded<Heard>()
    let pending = false // many changes at once are one reason to look
    const changed = () => {
      if (!pending) Queue.offerUnsafe(heard, { type: "changed" })
      pending = true
    }
    const records = yield* Effect.acquireRelease(
      Effect.sync(() => watchRecords([paths.registration, paths.owner], changed)),
      ({ close }) => Effect.sync(close)
    )
    /** Who is listened to, or was, and when that stream ended. */
    let followed = ""
    let ended: bigint | undefined
    return {
      toContender: ({ events, pid }) =>
        Queue.take(events).pipe(
          Effect.flatMap((event) => Queue.offer(heard, { ...event, from: pid })),
          Effect.forever,
          Effect.forkScoped,
          Effect.asVoid
        ),
      toOwner: (session, onHealth = () => Effect.void) =>
        Effect.gen(function* () {
          const { instanceID } = session.registration
          const now = yield* Clock.monotonicTimeNanos
          if (followed === instanceID && (ended === undefined || now - ended < pause)) return ended === undefined
          followed = instanceID
          ended = undefined
          yield* healthEvents(session).pipe(
            Stream.runForEach((health) => Effect.andThen(onHealth(health), Effect.sync(changed))),
            Effect.andThen(Clock.monotonicTimeNanos),
            Effect.andThen((at) =>
              Effect.sync(() => {
                if (followed === instanceID) ended = at
                changed()
              })
            ),
            Effect.forkScoped
          )
          return true
        }),
      next: (withinMs) =>
        Effect.gen(function* () {
          const event = Option.getOrUndefined(yield* Effect.timeoutOption(Queue.take(heard), yield* jittered(withinMs)))
          if (event?.type === "changed") pending = false
          if (event !== undefined) return event
          return yield* Effect.sync(() => void records.renew())
        })
    }
  })
