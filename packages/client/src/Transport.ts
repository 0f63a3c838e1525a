/**
 * Losing the connection to a service: a typed, retryable error, and the policies for it.
 *
 * @since 0.1.0
 */
import * as ExitCode from "@holdfast/lock/ExitCode"
import { ServiceError } from "@holdfast/lock/ServiceError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { isHttpClientError } from "effect/http/HttpClientError"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"

/**
 * The connection was lost. `message` says which request to which address, `landed` whether the service may have seen it:
 * after `"no"` it may be sent again, after `"maybe"` only when doing it twice does no harm. `url` is the address, empty
 * where there was none to dial.
 *
 * **When to use** To try again what `http` did not: it repeats by itself what did not land and what is idempotent, four times.
 *
 * @category errors
 * @since 0.1.0
 */
export class TransportLost extends ServiceError<TransportLost>()("TransportLost", ExitCode.unavailable, {
  url: Schema.String,
  landed: Schema.Literals(["no", "maybe"])
}) {}

/**
 * Whether an error means that the connection was lost, so that reconnecting helps: `TransportLost`, and what an HTTP
 * client says when it cannot connect or when a body is cut in the middle.
 *
 * **When to use** In loops of your own: an error that is not a loss is an answer, and comes again.
 *
 * **Example**
 *
 * ```ts
 * import { isLost, reconnectPolicy } from "@holdfast/client/Transport"
 * import * as Effect from "effect/Effect"
 *
 * export const untilAnswered = <A, E, R>(self: Effect.Effect<A, E, R>) =>
 *   Effect.retry(self, { schedule: reconnectPolicy, while: isLost })
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isLost = (error: unknown): boolean => {
  if (error instanceof TransportLost) return true
  if (!isHttpClientError(error)) return false
  const { reason } = error
  // a body that was cut is a decode error with the socket's error as cause; one that is merely wrong is not lost
  return reason._tag === "TransportError" || (reason._tag === "DecodeError" && codeOf(reason.cause) !== undefined)
}

const lostCodes = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ERR_STREAM_PREMATURE_CLOSE",
  "UND_ERR_SOCKET"
])

const codeOf = (cause: unknown): string | undefined => {
  const code = (cause as { readonly code?: unknown } | undefined)?.code
  if (typeof code === "string" && lostCodes.has(code)) return code
  // Node reports a response cut by the peer as a plain error with this message
  return cause instanceof Error && /^(aborted|terminated|socket hang up)$/.test(cause.message)
    ? "ECONNRESET"
    : undefined
}

/** @internal */
export const neverConnected = (cause: unknown): boolean => {
  const code = (cause as { readonly code?: unknown } | undefined)?.code
  // of a Unix socket: it is gone, or its queue is full
  return code === "ECONNREFUSED" || code === "ENOENT" || code === "EAGAIN"
}

/** @internal */
export const Idempotent = Context.Reference<boolean | undefined>("@holdfast/client/Idempotent", {
  defaultValue: () => undefined
})

/**
 * Marks the requests of an effect as harmless when done twice, so that they are sent again after a loss. By default
 * only GET, HEAD, OPTIONS and QUERY are.
 *
 * **When to use** For a PUT or DELETE, and for a POST that the application recognises, as by a key of its own.
 *
 * **Example**
 *
 * ```ts
 * import { ServiceClient } from "@holdfast/client/ServiceClient"
 * import { idempotent } from "@holdfast/client/Transport"
 * import * as Effect from "effect/Effect"
 *
 * export const forget = (id: string) =>
 *   Effect.flatMap(ServiceClient, ({ http }) => idempotent(http.del(`/notes/${id}`)))
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const idempotent = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(self, Idempotent, true)

/** @internal */
export const isIdempotentMethod = (method: string): boolean => /^(GET|HEAD|OPTIONS|QUERY)$/.test(method)

/**
 * How a client that lost its service tries again: after 250 ms, growing to 5 s, each ±20 %, for ever.
 *
 * **When to use** In `Effect.retry` around your own loops, or as the base of a policy of yours.
 *
 * **Example**
 *
 * ```ts
 * import { ServiceClient } from "@holdfast/client/ServiceClient"
 * import { reconnectPolicy } from "@holdfast/client/Transport"
 * import * as Effect from "effect/Effect"
 *
 * export const patiently = Effect.flatMap(ServiceClient, (service) => service.ensure()).pipe(
 *   Effect.retry({ schedule: reconnectPolicy, while: ({ _tag }) => _tag === "ServiceNotReady" })
 * )
 * ```
 *
 * Source: service-lifecycle.md "Client Reconnect".
 *
 * @category schedules
 * @since 0.1.0
 */
export const reconnectPolicy: Schedule.Schedule<unknown> = Schedule.min([
  Schedule.exponential("250 millis"),
  Schedule.spaced("5 seconds")
]).pipe(Schedule.jittered)

/**
 * The policy by which `follow` and the events of the promise client are taken up again after a loss;
 * `reconnectPolicy` unless an application provides another.
 *
 * **Details** It is asked only for losses and boots that failed; any other error ends the stream. The pause begins anew once something arrived.
 *
 * **Example**
 *
 * ```ts
 * import { ReconnectPolicy } from "@holdfast/client/Transport"
 * import * as Effect from "effect/Effect"
 * import * as Schedule from "effect/Schedule"
 *
 * export const patiently = Effect.provideService(ReconnectPolicy, Schedule.spaced("10 seconds"))
 * ```
 *
 * @category references
 * @since 0.1.0
 */
export const ReconnectPolicy = Context.Reference<Schedule.Schedule<unknown>>("@holdfast/client/ReconnectPolicy", {
  defaultValue: () => reconnectPolicy
})
