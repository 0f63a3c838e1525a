/** The HTTP client of a service: the endpoint is read per request, so it is built once and survives every new owner. */
import { baseUrlOf, tokenHeader } from "@holdfast/lifecycle/Credential"
import { refusalHeader } from "@holdfast/lifecycle/Refusal"
import { oneLine } from "@holdfast/lock/Problem"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import { ServiceFailed } from "../ClientError.ts"
import { Idempotent, isIdempotentMethod, isLost, neverConnected, TransportLost } from "../Transport.ts"
import { overSocket } from "./overSocket.ts"
import type { Session } from "@holdfast/lifecycle/Credential"

type Failure = HttpClientError.HttpClientError | TransportLost | ServiceFailed

/**
 * An `HttpClient` for paths of one service. It may fail with `TransportLost`, and with `ServiceFailed` while the application
 * could not start.
 *
 * @category models
 * @since 0.1.0
 */
export type ServiceHttp = HttpClient.HttpClient.With<Failure>

export interface Endpoint {
  /** The session we have with the instance that is registered now; costs one look at a file. */
  readonly known: Effect.Effect<Session | undefined>
  /** A session with an owner whose application answers; waits for one where the client's access allows it. */
  readonly found: Effect.Effect<Session, TransportLost | ServiceFailed>
}

/** After this many losses of one request something else is wrong than an owner that went. */
const attempts = 4

/** What to do with an answer: give it to the caller, or try again with a new owner. */
type Verdict =
  | { readonly _tag: "Answer"; readonly response: HttpClientResponse }
  | { readonly _tag: "NotLanded"; readonly url: string }

export const make = (base: HttpClient.HttpClient, endpoint: Endpoint): ServiceHttp => {
  const once = (request: HttpClientRequest.HttpClientRequest, first: boolean) =>
    Effect.gen(function* () {
      const session = (first ? yield* endpoint.known : undefined) ?? (yield* endpoint.found)
      const { address, registration } = session
      const { url } = registration
      const sent = request.pipe(
        HttpClientRequest.prependUrl(baseUrlOf(address)),
        HttpClientRequest.setHeader(tokenHeader, session.token)
      )
      const response = yield* ("socketPath" in address ? yield* overSocket(address.socketPath) : base)
        .execute(sent)
        .pipe(Effect.catchIf(isLost, (error) => lost(url, neverConnected(error.reason.cause) ? "no" : "maybe")))
      return yield* judge(url, response)
    })

  const execute = (request: HttpClientRequest.HttpClientRequest) =>
    Effect.gen(function* () {
      const mayRepeat = (yield* Idempotent) ?? isIdempotentMethod(request.method)
      for (let left = attempts - 1; ; left--) {
        const verdict = yield* once(request, left === attempts - 1).pipe(
          Effect.catchTag("TransportLost", (error) =>
            !diagnosed.has(error) && (error.landed === "no" || mayRepeat) && left > 0
              ? Effect.succeed({ _tag: "NotLanded", url: error.url } as const)
              : Effect.fail(diagnosed.has(error) ? error : lossOf(error, request, mayRepeat))
          )
        )
        if (verdict._tag === "Answer") return verdict.response
        if (left === 0) return yield* Effect.fail(lossOf({ url: verdict.url, landed: "no" }, request, mayRepeat))
      }
    })

  return HttpClient.makeWith<Failure, never, Failure, never>(
    (effect) => Effect.flatMap(effect, execute),
    (request) => Effect.succeed(request)
  )
}

const judge = (url: string, response: HttpClientResponse): Effect.Effect<Verdict, ServiceFailed | TransportLost> => {
  switch (response.headers[refusalHeader]) {
    case undefined:
    case "browser_origin":
    case "foreign_host":
    case "bad_request":
    case "too_large":
    case "not_found":
    case "method_not_allowed":
      return Effect.succeed({ _tag: "Answer", response })
    case "service_failed":
      return response.json.pipe(
        Effect.orElseSucceed(() => ({})),
        Effect.flatMap((body) => {
          const { action, message } = body as { readonly message?: string; readonly action?: string }
          return Effect.fail(
            new ServiceFailed({ message: message ?? "The service could not start.", action: action ?? "" })
          )
        })
      )
    default:
      // starting, stopping, or a token of another instance: the application has not seen it
      return Effect.as(Effect.ignore(response.text), { _tag: "NotLanded", url })
  }
}

export const lost = (url: string, landed: "no" | "maybe"): Effect.Effect<never, TransportLost> =>
  Effect.fail(
    new TransportLost({ url, landed, message: "The connection to the background service was lost.", action: "" })
  )

/** The loss in words: what was asked, of whom, and whether asking again is safe. */
const lossOf = (
  { landed, url }: Pick<TransportLost, "landed" | "url">,
  request: HttpClientRequest.HttpClientRequest,
  mayRepeat: boolean
): TransportLost => {
  // a query may be anything, also long or secret
  const asked = `${request.method} ${oneLine(request.url.split(/[?#]/, 1)[0]!).slice(0, 200)}`
  const said =
    url === ""
      ? `There is no background service to answer ${asked}.`
      : landed === "no"
        ? `${asked} did not reach the background service at ${url}.`
        : `The connection to the background service at ${url} was lost during ${asked}.`
  const again = landed === "no" || mayRepeat
  const action = again ? "Try again." : "Check whether it was done before you try again."
  return new TransportLost({ url, landed, message: said, action })
}

/** The loss of an answer whose head had arrived. */
export const lossInBody = (sent: HttpClientRequest.HttpClientRequest): TransportLost => {
  const { origin, pathname } = new URL(sent.url)
  const request = HttpClientRequest.setUrl(sent, pathname)
  return lossOf({ url: origin, landed: "maybe" }, request, isIdempotentMethod(sent.method))
}

/** Losses with a cause that asking again does not change. */
const diagnosed = new WeakSet<TransportLost>()

/** A diagnosed cause in the words of a request, which is not repeated for it. */
export const lostFor = ({ action, message }: { readonly message: string; readonly action: string }): TransportLost => {
  const error = new TransportLost({ url: "", landed: "no", message, action })
  diagnosed.add(error)
  return error
}
