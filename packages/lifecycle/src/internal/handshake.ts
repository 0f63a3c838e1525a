/**
 * The client's half of the session handshake. The other side proves first; the secret itself never travels.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import * as Credential from "./secret.ts"
import type { Registration } from "../Registration.ts"
import type { ServiceHealth } from "../ServiceHealth.ts"
import { healthOf } from "../StartupOutcome.ts"
import { type Address, addressIn } from "./address.ts"
import { type Exchange, exchange, type ExchangeOptions, oneConnection } from "./exchange.ts"

/**
 * Proved on both sides: requests may carry the token, to this address only.
 *
 * @category models
 * @since 0.1.0
 */
export interface Session {
  readonly registration: Registration
  readonly address: Address
  readonly token: string
}

/**
 * What became of an attempt to attach.
 *
 * @category models
 * @since 0.1.0
 */
export type Attached =
  | { readonly _tag: "Attached"; readonly session: Session; readonly health: ServiceHealth }
  /** Not that instance: nobody there, a stranger, or (`silent`) somebody who does not answer in time. */
  | Unreachable

/**
 * Why no session came about, in words for a log; `silent` when there was no answer in time.
 *
 * **Details** `foreign`: somebody answered, and not in the words of this program. Where the owner is known to live it is
 * of another version; elsewhere it may be anybody. With its session, where both sides proved themselves all the same.
 *
 * @category models
 * @since 0.1.0
 */
export interface Unreachable {
  readonly _tag: "Unreachable"
  readonly why: string
  readonly silent: boolean
  readonly foreign?: { readonly session: Session | undefined }
}

/**
 * How long a health request and each round of the handshake may take, in milliseconds (DESIGN §7).
 *
 * @category models
 * @since 0.1.0
 */
export const healthTimeoutMs = 2000

const unreachable = (why: string, silent = false): Unreachable => ({ _tag: "Unreachable", why, silent })

const foreign = (why: string, session?: Session): Unreachable => ({ ...unreachable(why), foreign: { session } })

/** Refusals that say something of the one who asks or of the moment, in today's words. */
const inOurWords: ReadonlyArray<unknown> = [
  "unauthenticated",
  "other_instance",
  "foreign_host",
  "browser_origin",
  "too_large"
]

const isForeign = (answer: Extract<Exchange, { readonly _tag: "Answer" }>): boolean =>
  answer.status < 500 && answer.status !== 429 && !inOurWords.includes(field(answer.body, "code"))

const explain = (outcome: Exchange): Unreachable => {
  switch (outcome._tag) {
    case "Refused":
      return unreachable("nobody listens there")
    case "Silent":
      return unreachable("it does not answer", true)
    case "Lost":
      return outcome.answered === true ? foreign(outcome.why) : unreachable(outcome.why)
    case "Answer":
      return (isForeign(outcome) ? foreign : unreachable)(`it answered ${outcome.status}`)
  }
}

const field = (body: unknown, name: string): unknown =>
  typeof body === "object" && body !== null ? (body as Record<string, unknown>)[name] : undefined

/**
 * Two rounds; nothing but nonces and proofs is said before both sides are proved. Never rejects.
 *
 * **Details** `directory` is the service's state directory: a Unix socket is dialled only in there. Without a secret
 * nobody can be proved; only whether it knows this handshake is found out. What is said and answered here never changes
 * but by fields that are added: it is what two versions tell each other by.
 *
 * **When to use** To ask a registered owner before Effect is loaded; `Discovery` and `ServiceClient` do it by themselves.
 *
 * **Example**
 *
 * ```ts
 * import { attach, load } from "@holdfast/lifecycle/Credential"
 * import type { Registration } from "@holdfast/lifecycle/Registration"
 * import type { ServicePaths } from "@holdfast/lock/ServicePaths"
 *
 * export const statusOf = async ({ directory, secret }: ServicePaths, registration: Registration): Promise<string> => {
 *   const reading = load(secret)
 *   if (reading._tag !== "Secret") return "no secret"
 *   const attached = await attach(registration, reading.secret, { directory })
 *   return attached._tag === "Attached" ? attached.health.status.type : attached.why
 * }
 * ```
 *
 * Source: DESIGN §5.
 *
 * @category constructors
 * @since 0.1.0
 */
export const attach = async (
  registration: Registration,
  secret: Credential.Secret | undefined,
  options: {
    readonly directory?: string
    readonly timeoutMs?: number
    readonly signal?: AbortSignal | undefined
  } = {}
): Promise<Attached> => {
  const { url } = registration
  const address = addressIn(options.directory, url)
  if (address === undefined) {
    const isSocket = url.startsWith("unix:")
    return unreachable(isSocket ? "that is no socket in its state directory" : `${url} is not a loopback address`)
  }
  const { signal, timeoutMs = healthTimeoutMs } = options
  const agent = oneConnection()
  const post = (body: unknown) =>
    exchange({ address, method: "POST", path: "/service/session", body, timeoutMs, signal, agent })
  try {
    return await prove(registration, address, secret, post)
  } finally {
    agent.destroy()
  }
}

const prove = async (
  registration: Registration,
  address: Address,
  secret: Credential.Secret | undefined,
  post: (body: unknown) => Promise<Exchange>
): Promise<Attached> => {
  const { instanceID } = registration
  const { endpoint } = address
  const clientNonce = Credential.random()
  const first = await post({ clientNonce, instanceID })
  if (first._tag !== "Answer" || first.status !== 200) return explain(first)
  const serverNonce = field(first.body, "serverNonce")
  const theirs = field(first.body, "proof")
  if (!Credential.isNonce(serverNonce) || typeof theirs !== "string") return foreign("another program listens there")
  if (secret === undefined) return unreachable("its secret is missing")
  const challenge = { instanceID, endpoint, clientNonce, serverNonce }
  if (!Credential.same(theirs, Credential.prove(secret, "server", challenge))) {
    return unreachable("another program listens there")
  }
  const second = await post({ clientNonce, serverNonce, proof: Credential.prove(secret, "client", challenge) })
  if (second._tag !== "Answer" || second.status !== 200) return explain(second)
  const token = field(second.body, "token")
  const health = healthOf(field(second.body, "health"))
  if (typeof token !== "string") return foreign("it speaks another protocol")
  const session: Session = { registration, address, token }
  return health === undefined ? foreign("it speaks another protocol", session) : { _tag: "Attached", session, health }
}

/**
 * One authenticated request to the lifecycle shell.
 *
 * **Details** It waits two seconds for all of it. Never rejects.
 *
 * **Example**
 *
 * ```ts
 * import { ask, type Session } from "@holdfast/lifecycle/Credential"
 *
 * export const askToStop = async (session: Session): Promise<boolean> => {
 *   const body = { instanceID: session.registration.instanceID }
 *   const outcome = await ask(session, { method: "POST", path: "/service/stop", body })
 *   return outcome._tag === "Answer" && outcome.status === 202
 * }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const ask = (
  session: Session,
  options: Pick<ExchangeOptions, "method" | "path" | "body" | "signal">
): Promise<Exchange> =>
  exchange({
    ...options,
    address: session.address,
    headers: { [Credential.tokenHeader]: session.token },
    timeoutMs: healthTimeoutMs
  })

/**
 * Health through a session we have. `Expired`: the service knows the token no more, so a new proof is worth a try;
 * anything else would meet the same silence again.
 *
 * **When to use** As long as there is a session: it costs one round instead of two, and a proof only once it `Expired`.
 *
 * **Example**
 *
 * ```ts
 * import { health, type Session } from "@holdfast/lifecycle/Credential"
 *
 * export const isReady = async (session: Session): Promise<boolean> => {
 *   const answer = await health(session)
 *   return answer._tag === "Attached" && answer.health.status.type === "ready"
 * }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const health = async (
  session: Session,
  signal?: AbortSignal
): Promise<Attached | { readonly _tag: "Expired" }> => {
  const answer = await ask(session, { method: "GET", path: "/service/health", signal })
  if (answer._tag === "Answer" && answer.status === 401) return { _tag: "Expired" }
  if (answer._tag !== "Answer" || answer.status !== 200) return explain(answer)
  const found = healthOf(answer.body)
  if (found === undefined) return foreign("it speaks another protocol")
  return found.instanceID === session.registration.instanceID
    ? { _tag: "Attached", session, health: found }
    : unreachable("it is another instance")
}
