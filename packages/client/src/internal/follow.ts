/** Following a service: its status as it changes, and an application's own events with a snapshot on each instance. */
import type { ServiceStatus } from "@holdfast/lifecycle/ServiceStatus"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ShownState } from "./shownState.ts"
import { make as makeHearing } from "./hearing.ts"
import { type Outlived, resumed } from "./resume.ts"
import { type Found, isOtherwise, stateOf } from "./decide.ts"
import type { ServiceState } from "../ServiceState.ts"

/** Misses in a row and their time before an owner that lives counts as unresponsive (DESIGN §7). */
export const unresponsiveAfter = { misses: 5, ms: 10_000 }

export interface Silence {
  readonly misses: number
  readonly since: number
}

/** Pure: one more look goes into the silence; a reachable, missing or dead owner ends it. `now` is monotonic, in ms. */
export const hush = (silence: Silence | undefined, found: Found, now: number): Silence | undefined =>
  found._tag === "Unreachable" && found.owner !== "dead" && !isOtherwise(found)
    ? { misses: (silence?.misses ?? 0) + 1, since: silence?.since ?? now }
    : undefined

/**
 * The state to show, given what was shown before: busy is not dead, so an owner that merely did not answer in time stays
 * what it was, until its silence has lasted.
 */
export const shown = (found: Found, silence: Silence | undefined, now: number, before: ServiceState): ServiceState => {
  if (
    silence !== undefined &&
    silence.misses >= unresponsiveAfter.misses &&
    now - silence.since >= unresponsiveAfter.ms
  ) {
    return { ...stateOf(found), status: { type: "unresponsive" } }
  }
  const busy =
    found._tag === "Unreachable" && found.silent && found.registration.instanceID === before.registration?.instanceID
  return busy ? before : stateOf(found)
}

const monotonicMs = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

/** Looks again and again: at once when something is heard, soon while something is missing, now and then while all is well. */
export const watch = (
  { discovery, hear, publish }: Pick<ShownState, "discovery" | "hear" | "publish">,
  paths: ServicePaths
): Effect.Effect<never> =>
  Effect.gen(function* () {
    const hearing = yield* makeHearing(paths)
    let silence: Silence | undefined
    while (true) {
      const found = yield* discovery.look.pipe(
        Effect.orElseSucceed((): Found => ({ _tag: "Missing", holder: undefined }))
      )
      const now = yield* monotonicMs
      silence = hush(silence, found, now)
      yield* publish(found, silence, now)
      const listening =
        found._tag === "Reachable" && (yield* hearing.toOwner(found.session, (health) => hear(found, health)))
      // the stream brings changes at once; the look beneath notices a frozen owner
      yield* hearing.next(!listening ? 250 : isSteady(found.health.status) ? 2000 : 500)
    }
  }).pipe(Effect.scoped)

const isSteady = ({ type }: ServiceStatus): boolean => type === "ready" || type === "failed"

/**
 * One item of `follow`: the snapshot of an instance, which comes first on each, or an event since.
 *
 * @category models
 * @since 0.1.0
 */
export type Follow<S, A> =
  | { readonly _tag: "Snapshot"; readonly value: S; readonly instanceID: string }
  | { readonly _tag: "Event"; readonly value: A }

/**
 * What `follow` follows: how to take a snapshot, and how to subscribe. `events` succeeds once it is subscribed, so that
 * nothing falls between it and the snapshot.
 *
 * @category models
 * @since 0.1.0
 */
export interface FollowSource<S, A, E1, E2, R> {
  readonly snapshot: Effect.Effect<S, E1, R>
  readonly events: Effect.Effect<Stream.Stream<A, E2, R>, E1, R>
}

/** Subscribes, then takes the snapshot, so that nothing falls between them; again on each instance, for ever. */
export const follow = <S, A, E1, E2, R>(
  source: FollowSource<S, A, E1, E2, R>,
  instanceID: Effect.Effect<string, never, Scope.Scope>
): Stream.Stream<Follow<S, A>, Exclude<E1 | E2, Outlived>, R> => {
  const once = Stream.unwrap(
    Effect.gen(function* () {
      const events = yield* source.events
      const buffered = yield* Stream.toQueue(events, { capacity: "unbounded" })
      const value = yield* source.snapshot
      const snapshot: Follow<S, A> = { _tag: "Snapshot", value, instanceID: yield* instanceID }
      return Stream.concat(
        Stream.succeed(snapshot),
        Stream.map(Stream.fromQueue(buffered), (event): Follow<S, A> => ({ _tag: "Event", value: event }))
      )
    })
  )
  return resumed(once) as Stream.Stream<Follow<S, A>, Exclude<E1 | E2, Outlived>, R>
}
