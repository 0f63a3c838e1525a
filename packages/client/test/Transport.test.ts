import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import { isHttpClientError } from "effect/http/HttpClientError"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as http from "node:http"
import type * as net from "node:net"
import { isIdempotentMethod, isLost, reconnectPolicy, TransportLost } from "../src/Transport.ts"

/** A real server; what it does to a request is the test's. */
const serve = (listener: http.RequestListener) =>
  Effect.gen(function* () {
    const server = http.createServer(listener)
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.callback<void>((resume) => (server.close(() => resume(Effect.void)), server.closeAllConnections()))
    )
    return `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/`
  })

const clients = [
  ["node:http", NodeHttpClient.layerNodeHttp],
  ["undici", NodeHttpClient.layerUndici],
  ["fetch", FetchHttpClient.layer]
] as const

const reads: ReadonlyArray<
  [string, (response: HttpClientResponse.HttpClientResponse) => Effect.Effect<unknown, unknown>]
> = [
  ["text", (response) => response.text],
  ["json", (response) => response.json],
  ["bytes", (response) => response.arrayBuffer],
  ["a stream", (response) => Stream.runDrain(response.stream)],
  ["a decoded value", HttpClientResponse.schemaBodyJson(Schema.Struct({ a: Schema.Int }))]
]

const cuts: ReadonlyArray<[string, http.RequestListener]> = [
  [
    "of known length",
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": 1000 })
      response.write('{"a":1', () => response.destroy())
    }
  ],
  [
    "in chunks",
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json" })
      response.write('{"a":1', () => response.destroy())
    }
  ],
  [
    "in chunks, reset",
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json" })
      response.write('{"a":1', () => (response.socket as net.Socket).resetAndDestroy())
    }
  ]
]

describe("a connection that is lost", () => {
  for (const [name, layer] of clients) {
    it.live(`${name}: a body cut in the middle, however it is read`, () =>
      Effect.gen(function* () {
        for (const [cut, listener] of cuts) {
          const url = yield* serve(listener)
          for (const [read, f] of reads) {
            const error = yield* HttpClient.get(url).pipe(Effect.flatMap(f), Effect.flip)
            assert.isTrue(isLost(error), `${read}, ${cut}: ${String(error)}`)
          }
        }
      }).pipe(Effect.provide(layer))
    )

    it.live(`${name}: nobody listens, or who listens closes without an answer`, () =>
      Effect.gen(function* () {
        const gone = yield* Effect.scoped(serve(() => undefined))
        const closing = yield* serve((request) => request.socket.destroy())
        const reset = yield* serve((request) => (request.socket as net.Socket).resetAndDestroy())
        for (const url of [gone, closing, reset]) {
          const error = yield* Effect.flip(HttpClient.get(url))
          assert.isTrue(isHttpClientError(error))
          assert.isTrue(isLost(error), String(error))
        }
      }).pipe(Effect.provide(layer))
    )

    it.live(`${name}: an answer that is whole is not lost, also when it is wrong or a refusal`, () =>
      Effect.gen(function* () {
        const url = yield* serve((request, response) => {
          response.writeHead(request.url === "/500" ? 500 : 200, { "content-type": "application/json" })
          response.end(request.url === "/garbage" ? "{ half" : '{"a":"x"}')
        })
        const decoded = HttpClientResponse.schemaBodyJson(Schema.Struct({ a: Schema.Int }))
        const failures: ReadonlyArray<Effect.Effect<unknown, unknown, HttpClient.HttpClient>> = [
          Effect.flatMap(HttpClient.get(`${url}garbage`), (response) => response.json),
          Effect.flatMap(HttpClient.get(`${url}garbage`), decoded),
          Effect.flatMap(HttpClient.get(`${url}other`), decoded),
          Effect.flatMap(HttpClient.get(`${url}500`), HttpClientResponse.filterStatusOk)
        ]
        for (const failure of failures) {
          const error = yield* Effect.flip(failure)
          assert.isFalse(isLost(error), String(error))
        }
      }).pipe(Effect.provide(layer))
    )
  }

  it("TransportLost is lost; other errors, also those that look like it, are not", () => {
    assert.isTrue(isLost(new TransportLost({ url: "", landed: "maybe", message: "m", action: "a" })))
    const looks = [
      undefined,
      null,
      "ECONNRESET",
      {},
      new Error("aborted"),
      Object.assign(new Error("x"), { code: "ECONNRESET" }),
      { _tag: "TransportLost" },
      { _tag: "HttpClientError", reason: { _tag: "TransportError" } }
    ]
    for (const other of looks) assert.isFalse(isLost(other))
  })
})

describe("trying again", () => {
  it("is harmless by itself for the methods that change nothing, and only for them", () => {
    const methods = ["GET", "HEAD", "OPTIONS", "QUERY", "POST", "PUT", "PATCH", "DELETE", "TRACE", "get", "", "GETX"]
    assert.deepStrictEqual(methods.filter(isIdempotentMethod), ["GET", "HEAD", "OPTIONS", "QUERY"])
  })

  it.effect("pauses 250 ms, doubling to 5 s, each a fifth more or less, for ever", () =>
    Effect.gen(function* () {
      const times: Array<number> = []
      const attempt = Effect.clockWith((clock) => {
        times.push(clock.currentTimeMillisUnsafe())
        return Effect.fail("lost")
      })
      const fiber = yield* Effect.forkChild(Effect.retry(attempt, reconnectPolicy))
      yield* TestClock.adjust("10 minutes")
      const pauses = times.slice(1).map((time, index) => time - times[index]!)
      const expected = [250, 500, 1000, 2000, 4000]
      assert.isAbove(pauses.length, 100, "it does not give up")
      for (const [index, pause] of pauses.entries()) {
        const middle = expected[index] ?? 5000
        assert.isTrue(pause >= middle * 0.8 - 1 && pause <= middle * 1.2 + 1, `pause ${index}: ${pause} ms`)
      }
      assert.isAbove(new Set(pauses.slice(10)).size, 10, "clients do not move in step")
      yield* Fiber.interrupt(fiber)
    })
  )
})
