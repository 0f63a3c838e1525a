/** A stream that outlives its service: taken up again after each loss, each end and each failed boot, for ever. */
import * as Effect from "effect/Effect"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { ServiceFailed } from "../ClientError.ts"
import { isLost, ReconnectPolicy, type TransportLost } from "../Transport.ts"

/** What a client outlives: a service that could not start is repaired by somebody, and shown meanwhile. */
export type Outlived = TransportLost | HttpClientError | ServiceFailed

const isOutlived = (error: unknown): boolean => isLost(error) || error instanceof ServiceFailed

/** Backs off while nothing arrives, and begins anew once something did. */
const afterLoss = (policy: Schedule.Schedule<unknown>) =>
  policy.pipe(
    Schedule.setInputType<unknown>(),
    Schedule.while(({ input }) => isOutlived(input))
  )

/** A stream that ended ended with its owner; the next is soon there. */
const afterEnd = Schedule.spaced("250 millis").pipe(Schedule.jittered)

/** Fails only with what it does not outlive. */
export const resumed = <A, E, R>(once: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
  Stream.unwrap(
    Effect.map(ReconnectPolicy, (policy) => once.pipe(Stream.retry(afterLoss(policy)), Stream.repeat(afterEnd)))
  ) as Stream.Stream<A, E, R>
