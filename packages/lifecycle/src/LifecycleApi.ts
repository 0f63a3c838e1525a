/**
 * The typed contract of `/service/*`, which the plain lifecycle shell fulfils; a contract test decodes every answer.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { Refusal } from "./Refusal.ts"
import { ServiceHealth } from "./ServiceHealth.ts"

/**
 * First round: the client's nonce and whom it wants. Answered with the server's nonce and proof.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Greeting = Schema.Struct({ clientNonce: Schema.String, instanceID: Schema.String })

/**
 * Second round: the client's proof, for the server's nonce.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Proof = Schema.Struct({ clientNonce: Schema.String, serverNonce: Schema.String, proof: Schema.String })

/**
 * Answer to the first round.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Challenged = Schema.Struct({ serverNonce: Schema.String, proof: Schema.String })

/**
 * Answer to the second round: the token for this instance, and how it is.
 *
 * **Gotchas** The token is good for this instance at this address only, until the instance ends.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Session = Schema.Struct({ token: Schema.String, health: ServiceHealth })

/**
 * Addressed to one instance; any other refuses.
 *
 * **Details** `targetVersion` is what a client that replaces the service tells all the others: `stopping` shows it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const StopRequest = Schema.Struct({
  instanceID: Schema.String,
  targetVersion: Schema.optionalKey(Schema.String)
})

/**
 * The stop was accepted; the process is gone within `deadlineMs`, or is ended one second later.
 *
 * @category schemas
 * @since 0.1.0
 */
export const StopAccepted = Schema.Struct({ deadlineMs: Schema.Int })

const refusals = [
  Refusal.pipe(HttpApiSchema.status(400)),
  Refusal.pipe(HttpApiSchema.status(401)),
  Refusal.pipe(HttpApiSchema.status(409)),
  Refusal.pipe(HttpApiSchema.status(413))
] as const

/**
 * `session`, `health`, `events` (the health now, then at each change) and `stop`.
 *
 * **When to use** For a client in another program or language, and to test that a shell keeps to it. `ServiceClient` speaks it
 * already.
 *
 * **Gotchas** Everything but `session` wants the session's token in the header `x-holdfast-token` (`Credential.tokenHeader`).
 *
 * **Example**
 *
 * ```ts
 * import { tokenHeader } from "@holdfast/lifecycle/Credential"
 * import { LifecycleApi } from "@holdfast/lifecycle/LifecycleApi"
 * import * as Effect from "effect/Effect"
 * import * as HttpApiClient from "effect/http-api/HttpApiClient"
 * import * as HttpClient from "effect/http/HttpClient"
 * import * as HttpClientRequest from "effect/http/HttpClientRequest"
 *
 * export const health = (baseUrl: string, token: string) =>
 *   HttpApiClient.make(LifecycleApi, {
 *     baseUrl,
 *     transformClient: HttpClient.mapRequest(HttpClientRequest.setHeader(tokenHeader, token))
 *   }).pipe(Effect.flatMap((client) => client.service.health()))
 * ```
 *
 * Source: service-lifecycle.md "Service Status"; DESIGN §4 and §5.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LifecycleApi = HttpApi.make("holdfast").add(
  HttpApiGroup.make("service")
    .add(
      HttpApiEndpoint.post("session", "/service/session", {
        payload: Schema.Union([Proof, Greeting]),
        success: [Session, Challenged],
        error: refusals
      })
    )
    .add(HttpApiEndpoint.get("health", "/service/health", { success: ServiceHealth, error: refusals }))
    .add(
      HttpApiEndpoint.get("events", "/service/events", {
        success: HttpApiSchema.StreamSse({ data: ServiceHealth }),
        error: refusals
      })
    )
    .add(
      HttpApiEndpoint.post("stop", "/service/stop", {
        payload: StopRequest,
        success: StopAccepted.pipe(HttpApiSchema.status(202)),
        error: refusals
      })
    )
)
