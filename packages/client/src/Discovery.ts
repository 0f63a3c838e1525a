/**
 * Finding the owner: its registration, and a proof that it is the one.
 *
 * @since 0.1.0
 */
import type { Session } from "@holdfast/lifecycle/Credential"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type CredentialRejected, type DirectoryUnusable, fromProblem } from "./ClientError.ts"
import { type Found, stateOf } from "./internal/decide.ts"
import { make as discovering } from "./internal/discovering.ts"
import type { ServiceState } from "./ServiceState.ts"

/**
 * A one-shot look at a service. Files first: a dead or missing owner is never dialled.
 *
 * **Details**
 *
 * - `look`: reads the registration afresh, proves both sides where no session is known, and asks for health. Bounded:
 *   it knows within two seconds whether somebody proves itself there. It starts nothing and changes nothing.
 * - `state`: the same as a `ServiceState`.
 * - `adopt`: the token that the startup pipe brought, which then needs no handshake.
 * - `session`: the session already there with the instance that is registered now; it dials nobody.
 *
 * **When to use** To look, in a program that must never start or wait. For everything else there is `ServiceClient`.
 *
 * **Example**
 *
 * ```ts
 * import { Discovery } from "@holdfast/client/Discovery"
 * import { paths } from "@holdfast/lock/ServicePaths"
 * import * as Effect from "effect/Effect"
 *
 * export const isReady = Effect.gen(function*() {
 *   const discovery = yield* Discovery
 *   const { status } = yield* discovery.state
 *   return status.type === "ready"
 * }).pipe(Effect.provide(Discovery.layer(paths({ app: "hello" }))))
 * ```
 *
 * Source: service-lifecycle.md "Registration Contract"; DESIGN §6.
 *
 * @category services
 * @since 0.1.0
 */
export class Discovery extends Context.Service<
  Discovery,
  {
    readonly look: Effect.Effect<Found, CredentialRejected | DirectoryUnusable>
    readonly state: Effect.Effect<ServiceState, CredentialRejected | DirectoryUnusable>
    readonly adopt: (brought: Pick<Session, "registration" | "token">) => Effect.Effect<void>
    readonly session: Effect.Effect<Session | undefined>
  }
>()("@holdfast/client/Discovery") {
  /** For the service whose files are at `paths`. */
  static readonly layer = (paths: ServicePaths): Layer.Layer<Discovery> => Layer.sync(Discovery, () => make(paths))
}

const make = (paths: ServicePaths): Discovery["Service"] => {
  const { adopt, find, session } = discovering(paths)
  const look = Effect.flatMap(
    Effect.promise((signal) => find(signal)),
    (found) => (found._tag === "Unusable" ? Effect.fail(fromProblem(found.kind, found.problem)) : Effect.succeed(found))
  )
  return Discovery.of({
    look,
    state: Effect.map(look, stateOf),
    adopt: (brought) => Effect.sync(() => adopt(brought)),
    session: Effect.sync(session)
  })
}
