/** Ends a service that nobody has used for as long as its spec says. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type { LifecycleShell } from "../LifecycleShell.ts"
import type { ServiceSpec } from "../ServiceSpec.ts"
import { millisOf } from "./duration.ts"
import { decide, type IdleEvent, type IdleStep, initial } from "./idle.ts"

const now = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

/** What has already reached the process is heard before it is said that nobody came. */
const turnsOfTheLoop = Effect.promise(async () => {
  for (let turn = 0; turn < 2; turn++) await new Promise((next) => setImmediate(next))
})

/** Returns when it has asked for the stop; never where the spec wants none. */
export const stopWhenIdle = ({
  shell,
  spec
}: {
  readonly shell: Pick<LifecycleShell, "dispatch" | "status" | "subscribe" | "uses">
  readonly spec: Pick<ServiceSpec, "idleExit">
}): Effect.Effect<void> =>
  Effect.gen(function* () {
    const limitMs = spec.idleExit === "never" ? undefined : millisOf(spec.idleExit)
    if (limitMs === undefined) return
    const events = yield* Queue.unbounded<IdleEvent>()
    const tell = (event: IdleEvent) => void Queue.offerUnsafe(events, event)
    const readiness = () => shell.status().type === "ready" && tell({ type: "Ready" })
    yield* Effect.acquireRelease(
      Effect.sync(() => [shell.subscribe(readiness), shell.uses.subscribe((used) => tell({ type: "Used", used }))]),
      (subscriptions) => Effect.sync(() => subscriptions.forEach((unsubscribe) => unsubscribe()))
    )
    yield* Effect.sync(readiness)
    let idle = initial
    let step: IdleStep = { _tag: "Rest" }
    for (;;) {
      const heard: Option.Option<IdleEvent> =
        step._tag === "Wait"
          ? yield* Effect.timeoutOption(Queue.take(events), step.ms)
          : Option.some(yield* Queue.take(events))
      ;[idle, step] = decide(
        limitMs,
        idle,
        Option.getOrElse(heard, () => ({ type: "Passed" }) as const),
        yield* now
      )
      if (step._tag !== "Stop") continue
      yield* turnsOfTheLoop
      const stopped = yield* Effect.sync(() => {
        if (Queue.sizeUnsafe(events) > 0) return false
        shell.dispatch({ type: "StopAsked" })
        return true
      })
      if (stopped) return yield* Effect.logInfo(`stopping, since nobody has used the service for ${limitMs} ms`)
    }
  }).pipe(Effect.scoped)
