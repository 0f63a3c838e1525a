/** A session with the service of a test, as a client opens it. */
import * as Credential from "@holdfast/lifecycle/Credential"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"

export interface Session extends Credential.Session {
  /** Where the owner's port is. */
  readonly host: string
  readonly port: number
  readonly secret: Credential.Secret
  /** The secret and the token in every way they may be written down, to look for. */
  readonly texts: ReadonlyArray<string>
}

export const sessionIn = (directory: string): Effect.Effect<Session> =>
  Effect.promise(async () => {
    const file = path.join(directory, "service.secret")
    const registration = JSON.parse(fs.readFileSync(path.join(directory, "service.json"), "utf8"))
    const loaded = Credential.load(file)
    if (loaded._tag !== "Secret") throw new Error(loaded._tag)
    const attached = await Credential.attach(registration, loaded.secret, { timeoutMs: 10_000 })
    if (attached._tag !== "Attached") throw new Error(attached.why)
    const { address } = attached.session
    if (!("port" in address)) throw new Error("It listens on no port.")
    const key = Buffer.from(fs.readFileSync(file, "utf8").trim(), "base64url")
    const texts = (["base64url", "base64", "hex", "latin1"] as const).map((encoding) => key.toString(encoding))
    const { host, port } = address
    return { ...attached.session, host, port, secret: loaded.secret, texts: [...texts, attached.session.token] }
  })

export const sessionOf = (kit: Testkit["Service"]): Effect.Effect<Session> => sessionIn(kit.paths.directory)
