import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Credential from "../src/Credential.ts"
import * as session from "../src/internal/session.ts"
import { instanceID, secretIn, temporary } from "./support.ts"

describe("the server's half of a session", () => {
  const make = Effect.map(temporary, (directory) => {
    const secret = secretIn(directory)
    const options = { secret, instanceID, endpoint: "127.0.0.1:4000", token: "the-token" }
    const sessions = session.make(options)
    const proofFor = (
      role: "client" | "server",
      clientNonce: string,
      serverNonce: string,
      change: Partial<Credential.Challenge> = {}
    ) => Credential.prove(secret, role, { instanceID, endpoint: options.endpoint, clientNonce, serverNonce, ...change })
    return { sessions, proofFor, another: () => session.make(options) }
  })
  const nonce = Credential.random

  it.live("proves itself first, and gives the token for a proof", () =>
    Effect.gen(function* () {
      const { proofFor, sessions } = yield* make
      const client = nonce()
      const { proof, serverNonce } = sessions.challenge(client)
      assert.strictEqual(proof, proofFor("server", client, serverNonce))
      assert.strictEqual(sessions.redeem(client, serverNonce, proofFor("client", client, serverNonce)), "the-token")
    })
  )

  it.live("a replayed proof is refused", () =>
    Effect.gen(function* () {
      const { proofFor, sessions } = yield* make
      const client = nonce()
      const { serverNonce } = sessions.challenge(client)
      const proof = proofFor("client", client, serverNonce)
      sessions.redeem(client, serverNonce, proof)
      assert.isUndefined(sessions.redeem(client, serverNonce, proof))
    })
  )

  it.live("a nonce is good for one try: after a wrong proof the right one is refused", () =>
    Effect.gen(function* () {
      const { proofFor, sessions } = yield* make
      const client = nonce()
      const { serverNonce } = sessions.challenge(client)
      assert.isUndefined(sessions.redeem(client, serverNonce, "wrong"))
      assert.isUndefined(sessions.redeem(client, serverNonce, proofFor("client", client, serverNonce)))
    })
  )

  it.live("its own proof sent back is refused, and so is one for another challenge", () =>
    Effect.gen(function* () {
      const { another, proofFor, sessions } = yield* make
      const wrong: ReadonlyArray<
        [string, (client: string, server: string, proof: string) => [string, string, string]]
      > = [
        ["its own proof, reflected", (client, server, proof) => [client, server, proof]],
        ["another role", (client, server) => [client, server, proofFor("server", client, server)]],
        [
          "another instance",
          (client, server) => [client, server, proofFor("client", client, server, { instanceID: "other" })]
        ],
        [
          "another endpoint: a relay in between",
          (client, server) => [client, server, proofFor("client", client, server, { endpoint: "127.0.0.1:4001" })]
        ],
        [
          "another client nonce",
          (_, server) => {
            const other = nonce()
            return [other, server, proofFor("client", other, server)]
          }
        ],
        [
          "a server nonce it never issued",
          (client) => {
            const other = nonce()
            return [client, other, proofFor("client", client, other)]
          }
        ],
        [
          "a server nonce of another shell",
          (client) => {
            const { serverNonce } = another().challenge(client)
            return [client, serverNonce, proofFor("client", client, serverNonce)]
          }
        ],
        ["an empty proof", (client, server) => [client, server, ""]],
        ["the nonces swapped", (client, server) => [server, client, proofFor("client", server, client)]]
      ]
      for (const [name, forge] of wrong) {
        const client = nonce()
        const { proof, serverNonce } = sessions.challenge(client)
        assert.isUndefined(sessions.redeem(...forge(client, serverNonce, proof)), name)
      }
    })
  )

  it.live("a proof that comes 10 s late is refused, and one just before is not", () =>
    Effect.gen(function* () {
      const { proofFor, sessions } = yield* make
      const now = performance.now
      const at = (ms: number) => void (performance.now = () => now.call(performance) + ms)
      try {
        for (const [ms, token] of [
          [9_000, "the-token"],
          [10_001, undefined]
        ] as const) {
          at(0)
          const client = nonce()
          const { serverNonce } = sessions.challenge(client)
          at(ms)
          assert.strictEqual(
            sessions.redeem(client, serverNonce, proofFor("client", client, serverNonce)),
            token,
            `${ms} ms`
          )
        }
      } finally {
        performance.now = now
      }
    })
  )

  it.live("ten thousand challenges nobody answers leave room for one that is, and the last is not forgotten", () =>
    Effect.gen(function* () {
      const { proofFor, sessions } = yield* make
      const first = nonce()
      const forgotten = sessions.challenge(first).serverNonce
      for (let round = 0; round < 10_000; round++) sessions.challenge(nonce())
      const client = nonce()
      const { serverNonce } = sessions.challenge(client)
      assert.strictEqual(sessions.redeem(client, serverNonce, proofFor("client", client, serverNonce)), "the-token")
      assert.isUndefined(
        sessions.redeem(first, forgotten, proofFor("client", first, forgotten)),
        "their number is bounded"
      )
    })
  )

  it.live("only the token itself is accepted", () =>
    Effect.gen(function* () {
      const { sessions } = yield* make
      assert.isTrue(sessions.accepts("the-token"))
      for (const wrong of [undefined, "", "the-toke", "the-token ", "THE-TOKEN", "the-token, the-token"])
        assert.isFalse(sessions.accepts(wrong), wrong)
    })
  )
})
