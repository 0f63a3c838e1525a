/**
 * Finding the owner: its registration, and a proof that it is the one.
 *
 * @since 0.1.0
 */
import { parseRegistration } from "@holdfast/lifecycle/StartupOutcome"
import * as files from "@holdfast/lock/files"
import * as identity from "@holdfast/lock/identity"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type CredentialRejected, type DirectoryUnusable, fromProblem } from "./ClientError.ts"
import { addressIn, type Attached, attach, health, type Session } from "@holdfast/lifecycle/Credential"
import { type Found, stateOf } from "./internal/decide.ts"
import { type Look, look } from "./internal/look.ts"
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

/** For each round with somebody who has proved nothing yet: a look that a stranger holds up is over within two seconds. */
const proofMs = 1500

/** A dead owner is never dialled: its port may be anybody's by now. */
const isDead = (paths: ServicePaths, instanceID: string): boolean => {
  const note = OwnerNote.read(paths.owner)
  return note?.instanceID === instanceID && identity.state(note) === "dead"
}

const make = (paths: ServicePaths): Discovery["Service"] => {
  let known: Session | undefined
  const probe = async (
    seen: Extract<Look, { readonly _tag: "Registered" }>,
    signal: AbortSignal
  ): Promise<Attached> => {
    const { registration, secret } = seen
    if (known?.registration.instanceID === registration.instanceID && known.registration.url === registration.url) {
      const answer = await health(known, signal)
      if (answer._tag === "Attached") return answer
      // after a connection error somebody else may listen there: what is asked next is a proof, not the token
      if (answer._tag === "Expired" || !answer.silent) known = undefined
      if (answer._tag !== "Expired") return answer
    }
    if (secret === undefined) return { _tag: "Unreachable", why: "its secret is missing", silent: false }
    const attached = await attach(registration, secret, { directory: paths.directory, timeoutMs: proofMs, signal })
    if (attached._tag === "Attached") known = attached.session
    return attached
  }
  const find = Effect.gen(function* () {
    const seen = yield* Effect.sync(() => look(paths))
    switch (seen._tag) {
      case "Missing":
        return seen
      case "Unusable":
        return yield* fromProblem(seen.kind, seen.problem)
      case "Registered": {
        const { note, owner, registration } = seen
        if (owner === "dead")
          return { _tag: "Unreachable", registration, owner, note, why: "its process is gone", silent: false } as const
        const attached = yield* Effect.promise((signal) => probe(seen, signal))
        return attached._tag === "Attached"
          ? ({ _tag: "Reachable", session: attached.session, health: attached.health, note } as const)
          : ({ _tag: "Unreachable", registration, owner, note, why: attached.why, silent: attached.silent } as const)
      }
    }
  })
  return Discovery.of({
    look: find,
    state: Effect.map(find, stateOf),
    adopt: ({ registration, token }) =>
      Effect.sync(() => {
        const address = addressIn(paths.directory, registration.url)
        if (address !== undefined) known = { registration, address, token }
      }),
    session: Effect.sync(() => {
      if (known !== undefined && isDead(paths, known.registration.instanceID)) known = undefined
      const reading = files.read(paths.registration)
      const registered = reading._tag === "Text" ? parseRegistration(reading.text)?.instanceID : undefined
      // a registration that is only missing heals by itself; one that names another owner ends the session
      return registered === undefined || registered === known?.registration.instanceID ? known : undefined
    })
  })
}
