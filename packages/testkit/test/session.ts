/** A session with the service of a test, as a client opens it, and requests of one's own over it. */
import * as Credential from "@holdfast/lifecycle/Credential"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as fs from "node:fs"

export interface Session extends Credential.Session {
  readonly secret: Credential.Secret
  /** The bytes of the secret, to look for. */
  readonly key: Buffer
}

export const sessionOf = (kit: Testkit["Service"]): Effect.Effect<Session> =>
  Effect.promise(async () => {
    const registration = JSON.parse(fs.readFileSync(kit.paths.registration, "utf8"))
    const loaded = Credential.load(kit.paths.secret)
    if (loaded._tag !== "Secret") throw new Error(loaded._tag)
    const attached = await Credential.attach(registration, loaded.secret)
    if (attached._tag !== "Attached") throw new Error(attached.why)
    const key = Buffer.from(fs.readFileSync(kit.paths.secret, "utf8").trim(), "base64url")
    return { ...attached.session, secret: loaded.secret, key }
  })
