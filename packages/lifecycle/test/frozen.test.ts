import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as crypto from "node:crypto"
import { ask, instanceID, key, type Opened, openShell, secretIn, temporary, until } from "./support.ts"

/**
 * What two versions tell each other by, as the first version has it. Written out by hand, with nothing of ours: what
 * fails here is a service or a client that an installed one of another version does not understand any more. Fields may
 * be added; nothing else may change.
 */
const proof = (role: "server" | "client", endpoint: string, clientNonce: string, serverNonce: string): string =>
  crypto
    .createHmac("sha256", key)
    .update(`${role}|${instanceID}|${endpoint}|${clientNonce}|${serverNonce}`)
    .digest("base64url")

const post = (opened: Opened, target: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
  Effect.map(ask(opened, { method: "POST", target, body: JSON.stringify(body), headers }), (answer) => ({
    status: answer.status,
    body: JSON.parse(answer.body) as Record<string, any>
  }))

describe("a client of the first version", () => {
  it.live("proves itself, reads the health and stops the service, also with fields that it does not know", () =>
    Effect.gen(function* () {
      const opened = yield* openShell({ secret: secretIn(yield* temporary) })
      const clientNonce = "A".repeat(43)
      const more = { of: "a later version" }
      const first = yield* post(opened, "/service/session", { clientNonce, instanceID, more })
      assert.strictEqual(first.status, 200)
      const { serverNonce } = first.body
      assert.match(serverNonce, /^[A-Za-z0-9_-]{43}$/)
      assert.strictEqual(first.body["proof"], proof("server", opened.endpoint, clientNonce, serverNonce))
      const second = yield* post(opened, "/service/session", {
        clientNonce,
        serverNonce,
        proof: proof("client", opened.endpoint, clientNonce, serverNonce),
        more
      })
      assert.strictEqual(second.status, 200)
      const health = { healthy: true, version: "1.2.3", pid: process.pid, instanceID, status: { type: "starting" } }
      assert.deepInclude(second.body["health"], health)
      const headers = { "x-holdfast-token": second.body["token"] }
      const asked = yield* ask(opened, { target: "/service/health", headers })
      assert.deepInclude(JSON.parse(asked.body), health)
      const other = yield* post(opened, "/service/stop", { instanceID: "another" }, headers)
      assert.deepInclude(other, { status: 409 })
      assert.strictEqual(other.body["code"], "other_instance")
      const stopped = yield* post(opened, "/service/stop", { instanceID, targetVersion: "9.9.9", more }, headers)
      assert.deepInclude(stopped, { status: 202 })
      assert.strictEqual(stopped.body["deadlineMs"], 1000)
      yield* until("it stops", () => opened.shell.status().type === "stopping")
      assert.deepStrictEqual(opened.shell.status(), { type: "stopping", targetVersion: "9.9.9" })
    })
  )
})
