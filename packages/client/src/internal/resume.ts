/** A stream that outlives its service: taken up again after each loss and each end, for ever. */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { isLost, ReconnectPolicy } from "../Transport.ts"

/** Backs off while nothing arrives, and begins anew once something did. */
const afterLoss = (policy: Schedule.Schedule<unknown>) =>
  policy.pipe(
    Schedule.setInputType<unknown>(),
    Schedule.while(({ input }) => isLost(input))
  )

/** A stream that ended ended with its owner; the next is soon there. */
const afterEnd = Schedule.spaced("250 millis").pipe(Schedule.jittered)

/** Fails only with what is no loss. */
export const resumed = <A, E, R>(once: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
  Stream.unwrap(
    Effect.map(ReconnectPolicy, (policy) => once.pipe(Stream.retry(afterLoss(policy)), Stream.repeat(afterEnd)))
  ) as Stream.Stream<A, E, R>
