import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Credential from "../src/Credential.ts"
import { LifecycleApi } from "../src/LifecycleApi.ts"
import { Refusal, refusalHeader, statusOf } from "../src/Refusal.ts"
import type { ServiceHealth } from "../src/ServiceHealth.ts"
import { ask, instanceID, type Opened, openShell, until } from "./support.ts"

/** The typed client of the published contract: what it cannot decode is a defect or an error without `code`. */
const typed = (opened: Opened, token?: string) =>
  Effect.gen(function* () {
    const base = yield* HttpClient.HttpClient
    const httpClient =
      token === undefined
        ? base
        : HttpClient.mapRequest(base, HttpClientRequest.setHeader(Credential.tokenHeader, token))
    return (yield* HttpApiClient.makeWith(LifecycleApi, { httpClient, baseUrl: opened.shell.url })).service
  }).pipe(Effect.provide(NodeHttpClient.layerNodeHttp))

const healthNow = (opened: Opened): ServiceHealth => ({
  healthy: true,
  version: "1.2.3",
  pid: process.pid,
  instanceID,
  status: opened.shell.status()
})

/** Fails with a refusal of the contract, and with nothing else. */
const refused = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(call), (error) => Schema.decodeUnknownSync(Refusal)(error).code)

describe("the shell fulfils its typed contract", () => {
  it.live("a session: the service proves itself first, then answers a proof with the token and the health", () =>
    Effect.gen(function* () {
      const opened = yield* openShell()
      const client = yield* typed(opened)
      const clientNonce = Credential.random()
      const first = yield* client.session({ payload: { clientNonce, instanceID } })
      if (!("serverNonce" in first)) return assert.fail("no challenge")
      const challenge = { instanceID, endpoint: opened.endpoint, clientNonce, serverNonce: first.serverNonce }
      assert.strictEqual(first.proof, Credential.prove(opened.secret, "server", challenge))
      const second = yield* client.session({
        payload: {
          clientNonce,
          serverNonce: first.serverNonce,
          proof: Credential.prove(opened.secret, "client", challenge)
        }
      })
      assert.deepStrictEqual(second, { token: opened.token, health: healthNow(opened) })
    })
  )

  it.live(
    "a session is refused to a client of another instance, without a nonce, with a wrong proof, and with one used before",
    () =>
      Effect.gen(function* () {
        const opened = yield* openShell()
        const client = yield* typed(opened)
        const clientNonce = Credential.random()
        assert.strictEqual(
          yield* refused(client.session({ payload: { clientNonce, instanceID: "other" } })),
          "other_instance"
        )
        assert.strictEqual(
          yield* refused(client.session({ payload: { clientNonce: "short", instanceID } })),
          "bad_request"
        )
        const first = yield* client.session({ payload: { clientNonce, instanceID } })
        if (!("serverNonce" in first)) return assert.fail("no challenge")
        const { proof, serverNonce } = first
        assert.strictEqual(
          yield* refused(client.session({ payload: { clientNonce, serverNonce, proof } })),
          "unauthenticated",
          "its own proof, sent back"
        )
        const right = Credential.prove(opened.secret, "client", {
          instanceID,
          endpoint: opened.endpoint,
          clientNonce,
          serverNonce
        })
        assert.strictEqual(
          yield* refused(client.session({ payload: { clientNonce, serverNonce, proof: right } })),
          "unauthenticated",
          "the nonce is used up"
        )
      })
  )

  it.live("health, in every status", () =>
    Effect.gen(function* () {
      const opened = yield* openShell()
      const client = yield* typed(opened, opened.token)
      const { shell } = opened
      assert.deepStrictEqual(yield* client.health(), { ...healthNow(opened), status: { type: "starting" } })
      for (const event of [
        { type: "Progressed", text: "Reading… 50 %" },
        { type: "Booted" },
        { type: "StopAsked", targetVersion: "2" }
      ] as const) {
        shell.dispatch(event)
        assert.deepStrictEqual(yield* client.health(), healthNow(opened))
      }
      const other = yield* openShell()
      other.shell.dispatch({ type: "BootFailed", message: "No index.", action: "Run: index" })
      const failed = yield* (yield* typed(other, other.token)).health()
      assert.deepStrictEqual(failed.status, { type: "failed", message: "No index.", action: "Run: index" })
    })
  )

  it.live("events: the health now, then at each change, then the end with the stop", () =>
    Effect.gen(function* () {
      const opened = yield* openShell()
      const next = {
        starting: { type: "Progressed", text: "one" },
        one: { type: "Booted" },
        ready: { type: "StopAsked" }
      } as const
      const seen = yield* Stream.unwrap((yield* typed(opened, opened.token)).events()).pipe(
        Stream.tap(({ status }) =>
          Effect.sync(() => {
            const event =
              next[
                status.type === "starting" && status.progress === "one" ? "one" : (status.type as "starting" | "ready")
              ]
            if (event !== undefined) opened.shell.dispatch(event)
          })
        ),
        Stream.runCollect
      )
      assert.deepStrictEqual(
        seen.map(({ status }) => status),
        [{ type: "starting" }, { type: "starting", progress: "one" }, { type: "ready" }, { type: "stopping" }]
      )
    })
  )

  it.live("events while it stops: the health now, and the end", () =>
    Effect.gen(function* () {
      const opened = yield* openShell()
      opened.shell.dispatch({ type: "StopAsked" })
      const seen = yield* Stream.runCollect(Stream.unwrap((yield* typed(opened, opened.token)).events()))
      assert.deepStrictEqual(
        seen.map(({ status }) => status),
        [{ type: "stopping" }]
      )
    })
  )

  it.live("stop: accepted with its deadline, again too, and begun once; another instance is refused", () =>
    Effect.gen(function* () {
      const opened = yield* openShell({ drainMs: 1234 })
      const client = yield* typed(opened, opened.token)
      let stops = 0
      opened.shell.onStop(() => void stops++)
      assert.strictEqual(yield* refused(client.stop({ payload: { instanceID: "other" } })), "other_instance")
      assert.strictEqual(opened.shell.status().type, "starting")
      assert.deepStrictEqual(yield* client.stop({ payload: { instanceID, targetVersion: "2.0.0" } }), {
        deadlineMs: 1234
      })
      yield* until("the stop begins", () => stops === 1)
      assert.deepStrictEqual(yield* client.stop({ payload: { instanceID, targetVersion: "3.0.0" } }), {
        deadlineMs: 1234
      })
      yield* client.health()
      assert.strictEqual(stops, 1)
      assert.deepStrictEqual(opened.shell.status(), { type: "stopping", targetVersion: "2.0.0" })
      opened.shell.onStop(() => void stops++)
      assert.strictEqual(stops, 2, "who listens late hears it at once")
    })
  )

  it.live("without the token, or with a wrong one, everything but the session is refused", () =>
    Effect.gen(function* () {
      const opened = yield* openShell()
      for (const token of [undefined, "", "wrong", `${opened.token}x`, opened.token.toUpperCase()]) {
        const client = yield* typed(opened, token)
        assert.strictEqual(yield* refused(client.health()), "unauthenticated")
        assert.strictEqual(yield* refused(client.stop({ payload: { instanceID } })), "unauthenticated")
        assert.strictEqual(yield* refused(Stream.runCollect(Stream.unwrap(client.events()))), "unauthenticated")
      }
      assert.strictEqual(opened.shell.status().type, "starting", "nobody was heard")
    })
  )

  it.live("a request that is too large is a refusal of the contract, too", () =>
    Effect.gen(function* () {
      const opened = yield* openShell()
      const client = yield* typed(opened, opened.token)
      const large = "x".repeat(5000)
      assert.strictEqual(yield* refused(client.stop({ payload: { instanceID, targetVersion: large } })), "too_large")
      assert.strictEqual(
        yield* refused(client.session({ payload: { clientNonce: Credential.random(), instanceID: large } })),
        "too_large"
      )
    })
  )
})

const decode = (body: string): Refusal => Schema.decodeUnknownSync(Refusal)(JSON.parse(body))

describe("every refusal", () => {
  it.live("has its status, its code in the header and in the body, one line of words, and is never cached", () =>
    Effect.gen(function* () {
      const opened = yield* openShell()
      const proved = { [Credential.tokenHeader]: opened.token }
      const post = { method: "POST", headers: proved }
      const requests: ReadonlyArray<[Refusal["code"], Parameters<typeof ask>[1]]> = [
        ["service_starting", { target: "/anything" }],
        ["unauthenticated", { target: "/service/health" }],
        ["other_instance", { ...post, target: "/service/stop", body: JSON.stringify({ instanceID: "other" }) }],
        ["foreign_host", { target: "/service/health", headers: { ...proved, host: "evil.example" } }],
        ["browser_origin", { target: "/service/health", headers: { ...proved, origin: opened.shell.url } }],
        ["bad_request", { ...post, target: "/service/stop", body: "{" }],
        ["too_large", { ...post, target: "/service/stop", body: "x".repeat(5000) }],
        ["not_found", { target: "/service/nope", headers: proved }],
        ["method_not_allowed", { ...post, target: "/service/health" }]
      ]
      for (const [code, request] of requests) {
        const answer = yield* ask(opened, request)
        assert.strictEqual(answer.status, statusOf[code], code)
        assert.strictEqual(answer.headers[refusalHeader], code)
        const refusal = decode(answer.body)
        assert.strictEqual(refusal.code, code)
        assert.match(refusal.message, /^[A-Z][^\n]*\.$/)
        assert.strictEqual(answer.headers["content-type"], "application/json")
        assert.strictEqual(answer.headers["cache-control"], "no-store")
      }
    })
  )

  const booted = [{ type: "Booted" }] as const
  const failed = [{ type: "BootFailed", message: "No index.", action: "Run: index" }] as const
  it.live.each<
    [string, ReadonlyArray<Parameters<Opened["shell"]["dispatch"]>[0]>, Refusal["code"], string | undefined]
  >([
    ["while it starts", [], "service_starting", "1"],
    ["while it stops", [...booted, { type: "StopAsked" }], "service_stopping", "1"],
    ["after a failed boot, which does not pass by itself", failed, "service_failed", undefined]
  ])(
    "an application request %s is answered 503 at once, with Retry-After only where waiting helps",
    ([, events, code, retryAfter]) =>
      Effect.gen(function* () {
        const opened = yield* openShell()
        opened.shell.mount((_, response) => response.end("the application"))
        for (const event of events) opened.shell.dispatch(event)
        for (const method of ["GET", "POST", "DELETE"]) {
          const answer = yield* ask(opened, {
            method,
            target: "/search?q=x",
            headers: { [Credential.tokenHeader]: opened.token }
          })
          assert.strictEqual(answer.status, 503)
          assert.strictEqual(answer.headers["retry-after"], retryAfter)
          assert.strictEqual(decode(answer.body).code, code)
        }
      })
  )

  it.live("the application's own words about a failed boot are for those who proved themselves", () =>
    Effect.gen(function* () {
      const opened = yield* openShell()
      opened.shell.dispatch({
        type: "BootFailed",
        message: "The index at /home/ada is broken.",
        action: "Run: index --fix"
      })
      for (const token of [undefined, "wrong"]) {
        const answer = yield* ask(opened, token === undefined ? {} : { headers: { [Credential.tokenHeader]: token } })
        assert.notInclude(answer.body, "ada")
        assert.notInclude(answer.body, "--fix")
      }
      const { body } = yield* ask(opened, { headers: { [Credential.tokenHeader]: opened.token } })
      assert.deepStrictEqual(decode(body), {
        code: "service_failed",
        message: "The index at /home/ada is broken.",
        action: "Run: index --fix"
      })
    })
  )
})

describe("who listens to the status", () => {
  it.live("hears each change once, in order, until it stops listening; what changes nothing is not told", () =>
    Effect.gen(function* () {
      const { shell } = yield* openShell()
      const [all, few]: [Array<string>, Array<string>] = [[], []]
      shell.subscribe(({ type }) => void all.push(type))
      const leave = shell.subscribe(({ type }) => void few.push(type))
      shell.dispatch({ type: "Progressed", text: "one" })
      leave()
      for (const event of [
        { type: "Booted" },
        { type: "Booted" },
        { type: "Progressed", text: "late" },
        { type: "StopAsked" },
        { type: "StopAsked" }
      ] as const)
        shell.dispatch(event)
      assert.deepStrictEqual(all, ["starting", "ready", "stopping"])
      assert.deepStrictEqual(few, ["starting"])
    })
  )
})
