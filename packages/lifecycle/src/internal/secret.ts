/**
 * The secret of a service and the proof of knowing it. Both sides prove before anything else is said.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import * as files from "@holdfast/lock/files"
import { type Problem, problem } from "@holdfast/lock/Problem"

// loading it takes a client 10 ms, which one that only starts the service can do without
const crypto = () => process.getBuiltinModule("node:crypto")

/**
 * 32 bytes only this user can read.
 *
 * @category models
 * @since 0.1.0
 */
export interface Secret {
  readonly "~@holdfast/lifecycle/Secret": unknown
}

// the bytes are kept apart from the value, so that no log, error or inspection can print them
const bytes = new WeakMap<Secret, Buffer>()

const secretOf = (key: Buffer): Secret => {
  const secret: Secret = { "~@holdfast/lifecycle/Secret": undefined }
  bytes.set(secret, key)
  return secret
}

/**
 * What is at the secret's path. `Malformed`: ours and private, but not 32 bytes.
 *
 * @category models
 * @since 0.1.0
 */
export type SecretReading =
  | { readonly _tag: "Secret"; readonly secret: Secret }
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Malformed" }
  | { readonly _tag: "Rejected"; readonly problem: Problem }

/**
 * Reads the secret. Unreadable, another user's, or readable by others is `Rejected`, never `Absent`.
 *
 * **When to use** On the client's side, which never makes one: without a secret nobody serves there.
 *
 * **Example**
 *
 * ```ts
 * import { load } from "@holdfast/lifecycle/Credential"
 * import * as os from "node:os"
 * import * as path from "node:path"
 *
 * console.log(load(path.join(os.tmpdir(), "there-is-no.secret"))._tag) // => "Absent"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const load = (path: string): SecretReading => {
  const reading = files.read(path)
  if (reading._tag === "Absent") return { _tag: "Absent" }
  if (reading._tag === "Unreadable") {
    return { _tag: "Rejected", problem: problem("read the secret", path, { code: reading.code }) }
  }
  const uid = process.geteuid?.()
  if (uid !== undefined && reading.uid !== uid) {
    const message = `The secret ${path} belongs to another user (uid ${reading.uid}).`
    return { _tag: "Rejected", problem: { code: "EOWNER", path, message, action: "Remove it, or run as that user." } }
  }
  if (uid !== undefined && (reading.mode & 0o077) !== 0) {
    const message = `Other users may read the secret ${path} (mode ${reading.mode.toString(8)}).`
    return {
      _tag: "Rejected",
      problem: { code: "EMODE", path, message, action: `Stop the service, then run: rm '${path}'` }
    }
  }
  const key = Buffer.from(reading.text.trim(), "base64url")
  return key.length === 32 ? { _tag: "Secret", secret: secretOf(key) } : { _tag: "Malformed" }
}

/**
 * The secret, created where it is missing or malformed. Only the lock holder may call this.
 *
 * **When to use** As the owner, after the lock is held and before anybody is told where it listens.
 *
 * **Example**
 *
 * ```ts
 * import { establish, load } from "@holdfast/lifecycle/Credential"
 * import * as os from "node:os"
 * import * as path from "node:path"
 *
 * const file = path.join(os.tmpdir(), "established.secret")
 * console.log(establish(file)._tag) // => "Secret"
 * console.log(load(file)._tag) // => "Secret"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const establish = (path: string): Exclude<SecretReading, { readonly _tag: "Absent" | "Malformed" }> => {
  const reading = load(path)
  if (reading._tag === "Secret" || reading._tag === "Rejected") return reading
  const key = crypto().randomBytes(32)
  try {
    if (reading._tag === "Malformed") files.replace(path, `${key.toString("base64url")}\n`)
    else if (!files.create(path, `${key.toString("base64url")}\n`)) return taken(path)
    return { _tag: "Secret", secret: secretOf(key) }
  } catch (error) {
    return { _tag: "Rejected", problem: problem("write the secret", path, error) }
  }
}

/** Something came to the path between looking and creating: it is used when it is a secret, and otherwise said. */
const taken = (path: string): Exclude<SecretReading, { readonly _tag: "Absent" | "Malformed" }> => {
  const reading = load(path)
  if (reading._tag === "Secret" || reading._tag === "Rejected") return reading
  const message = `Cannot write the secret ${path}: something that cannot be read is in its place.`
  return { _tag: "Rejected", problem: { code: "EEXIST", path, message, action: `Remove it: rm '${path}'` } }
}

/**
 * Puts a secret back that somebody removed or damaged while its owner runs. `true` when it had to.
 *
 * **Details** Only the lock holder may. Throws the system's error.
 *
 * **Example**
 *
 * ```ts
 * import * as Credential from "@holdfast/lifecycle/Credential"
 * import type { ServicePaths } from "@holdfast/lock/ServicePaths"
 *
 * export const heal = (files: ServicePaths, secret: Credential.Secret): void => {
 *   if (Credential.reassert(files.secret, secret)) console.warn("put the secret back")
 * }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const reassert = (path: string, secret: Secret): boolean => {
  const key = bytes.get(secret)!
  const reading = files.read(path)
  if (reading._tag === "Text" && reading.text.trim() === key.toString("base64url")) return false
  files.replace(path, `${key.toString("base64url")}\n`)
  return true
}

/**
 * What a proof is bound to: one instance at one address, and both sides' nonces. `endpoint` is `host:port` or
 * `unix:<path>`, as dialled on one side and as bound on the other.
 *
 * @category models
 * @since 0.1.0
 */
export interface Challenge {
  readonly instanceID: string
  readonly endpoint: string
  readonly clientNonce: string
  readonly serverNonce: string
}

/**
 * `HMAC-SHA256(secret, role | instanceID | endpoint | Nc | Ns)`. The role keeps a proof from being sent back.
 *
 * **When to use** On both sides of the handshake; `attach` does the client's half.
 *
 * **Example**
 *
 * ```ts
 * import * as Credential from "@holdfast/lifecycle/Credential"
 *
 * export const isTheService = (secret: Credential.Secret, challenge: Credential.Challenge, proof: string): boolean =>
 *   Credential.same(proof, Credential.prove(secret, "server", challenge))
 * ```
 *
 * Source: DESIGN §5.
 *
 * @category combinators
 * @since 0.1.0
 */
export const prove = (secret: Secret, role: "server" | "client", challenge: Challenge): string =>
  crypto()
    .createHmac("sha256", bytes.get(secret)!)
    .update([role, challenge.instanceID, challenge.endpoint, challenge.clientNonce, challenge.serverNonce].join("|"))
    .digest("base64url")

/**
 * Compares in constant time.
 *
 * **When to use** For proofs and tokens: how long it takes tells nobody how much of a guess was right.
 *
 * **Example**
 *
 * ```ts
 * import * as Credential from "@holdfast/lifecycle/Credential"
 *
 * console.log(Credential.same("a proof", "a proof")) // => true
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const same = (left: string, right: string): boolean => {
  const digest = (value: string) => crypto().createHash("sha256").update(value).digest()
  return crypto().timingSafeEqual(digest(left), digest(right))
}

/**
 * A fresh nonce or token: 32 random bytes.
 *
 * **Example**
 *
 * ```ts
 * import * as Credential from "@holdfast/lifecycle/Credential"
 *
 * console.log(Credential.random().length) // => 43
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const random = (): string => crypto().randomBytes(32).toString("base64url")

/**
 * Whether a value has a nonce's shape; anything else never gets near the HMAC, so `|` cannot be smuggled in.
 *
 * **Example**
 *
 * ```ts
 * import * as Credential from "@holdfast/lifecycle/Credential"
 *
 * console.log(Credential.isNonce(Credential.random())) // => true
 * console.log(Credential.isNonce("a|b")) // => false
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isNonce = (value: unknown): value is string =>
  typeof value === "string" && /^[A-Za-z0-9_-]{43}$/.test(value)

/**
 * The header that carries the session token. Not `Authorization`, which stays the application's own.
 *
 * @category models
 * @since 0.1.0
 */
export const tokenHeader = "x-holdfast-token"
