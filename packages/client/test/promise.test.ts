import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Application from "@holdfast/lifecycle/Application"
import { refusalHeader } from "@holdfast/lifecycle/Refusal"
import { ServiceInstance } from "@holdfast/lifecycle/ServiceInstance"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as nodeHttp from "node:http"
import type * as net from "node:net"
import * as http from "../src/internal/http.ts"
import { fromEffect, type PromiseServiceClient, type ServiceEvent } from "../src/promise.ts"
import { ServiceClient } from "../src/ServiceClient.ts"
import { missing } from "../src/ServiceState.ts"
import { isLost } from "../src/Transport.ts"
import { addressOf, registration, spec, temporary, until } from "./support.ts"

const unhandled: Array<unknown> = []
const note = (reason: unknown) => void unhandled.push(reason)
beforeAll(() => void process.on("unhandledRejection", note))
afterAll(() => void process.off("unhandledRejection", note))

const echo = Effect.gen(function* () {
  const request = yield* HttpServerRequest
  return yield* HttpServerResponse.json({
    method: request.method,
    url: request.url,
    type: request.headers["content-type"],
    mine: request.headers["x-mine"],
    body: yield* request.text
  })
})
const sse = (text: string, end = false) =>
  HttpServerResponse.stream(Stream.concat(Stream.encodeText(Stream.make(text)), end ? Stream.empty : Stream.never), {
    contentType: "text/event-stream"
  })

const application = Application.make(
  HttpRouter.addAll([
    HttpRouter.route("*", "/echo", echo),
    HttpRouter.route("GET", "/gone", Effect.succeed(HttpServerResponse.empty({ status: 204 }))),
    HttpRouter.route(
      "GET",
      "/teapot",
      Effect.succeed(HttpServerResponse.text("short and stout", { status: 418, headers: { "x-mine": "yes" } }))
    ),
    HttpRouter.route("GET", "/hangs", Effect.never),
    HttpRouter.route(
      "GET",
      "/where",
      Effect.map(ServiceInstance, ({ paths }) => HttpServerResponse.text(paths.directory))
    ),
    HttpRouter.route(
      "GET",
      "/events",
      Effect.succeed(sse('event: tick\ndata: {"n":1}\n\ndata: plain\n\nevent: tick\ndata: [2\ndata: ]\n\n'))
    ),
    HttpRouter.route("GET", "/once", Effect.succeed(sse("data: 1\n\n", true)))
  ])
)

/** The promises of a client, for the life of the test. */
const promises = <E>(layer: Layer.Layer<ServiceClient, E>) =>
  Effect.acquireRelease(
    Effect.map(Layer.build(layer), (context) => fromEffect(context)),
    (client) => Effect.promise(() => client.dispose())
  )
const inProcess = promises(ServiceClient.layerInProcess(spec, application))

const test = (name: string, body: (client: PromiseServiceClient) => Promise<void>) =>
  it.live(name, () => Effect.flatMap(inProcess, (client) => Effect.promise(() => body(client))))

/** The reason a promise rejects with; fails when it does not within the time. */
const reasonOf = async (promise: Promise<unknown>, withinMs = 2000): Promise<unknown> => {
  const settled = promise.then(
    (value) => assert.fail(`It was fulfilled with ${JSON.stringify(value)}.`),
    (reason: unknown) => reason
  )
  const limit = new Promise<never>((_, reject) =>
    AbortSignal.timeout(withinMs).addEventListener("abort", () =>
      reject(new Error(`It is not settled after ${withinMs} ms.`))
    )
  )
  return Promise.race([settled, limit])
}

const take = async <A>(iterable: AsyncIterable<A>, count: number): Promise<ReadonlyArray<A>> => {
  const taken: Array<A> = []
  for await (const one of iterable) if (taken.push(one) >= count) break
  return taken
}

describe("fetch", () => {
  test("gives the application's answer: status, headers and body", async (client) => {
    const response = await client.fetch("/teapot")
    assert.deepStrictEqual(
      [response.status, response.headers.get("x-mine"), await response.text()],
      [418, "yes", "short and stout"]
    )
    const gone = await client.fetch("/gone")
    assert.deepStrictEqual([gone.status, await gone.text()], [204, ""])
    assert.strictEqual((await client.fetch("/nope")).status, 404)
  })

  test("sends method, query, headers and body", async (client) => {
    const response = await client.fetch("/echo?q=1", {
      method: "POST",
      body: JSON.stringify({ a: 1 }),
      headers: { "content-type": "application/json", "x-mine": "1" }
    })
    assert.deepStrictEqual(await response.json(), {
      method: "POST",
      url: "/echo?q=1",
      type: "application/json",
      mine: "1",
      body: '{"a":1}'
    })
  })

  test("an aborted signal rejects with its own reason, before and while it waits", async (client) => {
    const reason = new Error("mine")
    assert.strictEqual(await reasonOf(client.fetch("/teapot", { signal: AbortSignal.abort(reason) })), reason)
    const controller = new AbortController()
    const waiting = reasonOf(client.fetch("/hangs", { signal: controller.signal }))
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort(reason)
    assert.strictEqual(await waiting, reason)
    assert.strictEqual((await client.fetch("/teapot")).status, 418, "and the next one works")
  })
})

describe("events", () => {
  test("begin with reopened, then what the application sends: JSON where it is JSON, text otherwise", async (client) => {
    const events = await take(client.events("/events"), 4)
    assert.deepStrictEqual(events, [
      { event: "reopened", data: undefined },
      { event: "tick", data: { n: 1 } },
      { event: "message", data: "plain" },
      { event: "tick", data: [2] }
    ])
  })

  test("begin anew when the stream ends", async (client) => {
    const events = await take(client.events("/once"), 4)
    assert.deepStrictEqual(
      events.map(({ event }) => event),
      ["reopened", "message", "reopened", "message"]
    )
  })

  test("of a path that is no event stream end with an error that says so", async (client) => {
    assert.match(String(await reasonOf(take(client.events("/teapot"), 1))), /418/)
    assert.match(String(await reasonOf(take(client.events("/nope"), 1))), /404/)
  })

  test("end with the signal's reason, and with the loop that reads them", async (client) => {
    const reason = new Error("mine")
    assert.strictEqual(await reasonOf(take(client.events("/events", { signal: AbortSignal.abort(reason) }), 1)), reason)
    const controller = new AbortController()
    const seen: Array<ServiceEvent> = []
    const reading = reasonOf(
      (async () => {
        for await (const event of client.events("/events", { signal: controller.signal }))
          if (seen.push(event) === 4) setImmediate(() => controller.abort(reason))
      })()
    )
    assert.strictEqual(await reading, reason)
    assert.strictEqual(seen.length, 4)
    assert.strictEqual((await take(client.events("/events"), 2)).length, 2)
  })
})

describe("the state", () => {
  test("is missing before anything was looked at, then told to who listens, the same object until it changes", async (client) => {
    assert.strictEqual(client.current(), missing)
    let told = 0
    const leave = client.subscribe(() => void told++)
    await Effect.runPromise(until("it is told", () => told === 1))
    const state = client.current()
    assert.deepStrictEqual(state.status, { type: "ready" })
    assert.strictEqual(client.current(), state)
    leave()
    client.subscribe(() => undefined)
    await new Promise((resolve) => setImmediate(resolve))
    assert.strictEqual(told, 1)
  })

  test("can be iterated over, the state now first", async (client) => {
    const [state] = await take(client.status(), 1)
    assert.deepStrictEqual(state?.status, { type: "ready" })
    const reason = new Error("mine")
    assert.strictEqual(
      (await reasonOf(take(client.status({ signal: AbortSignal.timeout(20) }), 2))) instanceof DOMException,
      true
    )
    assert.strictEqual(await reasonOf(take(client.status({ signal: AbortSignal.abort(reason) }), 1)), reason)
  })

  test("of a service in this process: it is there, and ends with it", async (client) => {
    const ready = await client.launch()
    assert.deepInclude(ready, { version: "1.0.0", pid: process.pid, instanceID: "in-process" })
    for (const call of [client.reconnect, client.ensure]) assert.deepStrictEqual(await call(), ready)
    for (const call of [client.stop, client.restart])
      assert.deepStrictEqual(await call(), {
        _tag: "Refused",
        sentence: "Hello runs in this process and ends with it."
      })
    const reason = new Error("mine")
    assert.strictEqual(await reasonOf(client.launch({ signal: AbortSignal.abort(reason) })), reason)
  })

  it.live("its directory is its own, and goes with the scope", () =>
    Effect.gen(function* () {
      const directory = yield* Effect.scoped(
        Effect.flatMap(inProcess, (client) =>
          Effect.promise(async () => {
            const found = await (await client.fetch("/where")).text()
            assert.strictEqual(fs.statSync(found).mode & 0o777, 0o700)
            return found
          })
        )
      )
      assert.isFalse(fs.existsSync(directory))
    })
  )

  it.live("an application that cannot boot is the layer's error, in its own words", () =>
    Effect.gen(function* () {
      const words = { message: "There is no index.", action: "Run: index" }
      const failing = Application.make(Layer.effectDiscard(Effect.fail(new Application.BootFailed(words))))
      assert.deepInclude(
        yield* Effect.flip(Effect.scoped(Layer.build(ServiceClient.layerInProcess(spec, failing)))),
        words
      )
    })
  )
})

/** A client whose service is a real server of the test's, reached by node:http as a real one is. */
const over = (listener: nodeHttp.RequestListener) =>
  Effect.gen(function* () {
    const server = nodeHttp.createServer(listener)
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.callback<void>((resume) => (server.close(() => resume(Effect.void)), server.closeAllConnections()))
    )
    const { port } = server.address() as net.AddressInfo
    const session = Effect.succeed({ registration, address: addressOf(port), token: "t" })
    const base = Context.get(yield* Layer.build(NodeHttpClient.layerNodeHttp), HttpClient.HttpClient)
    const service = yield* Effect.map(Layer.build(ServiceClient.layerInProcess(spec, application)), (context) =>
      Context.get(context, ServiceClient)
    )
    return fromEffect(
      Context.make(ServiceClient, { ...service, http: http.make(base, { known: session, found: session }) })
    )
  })

const collect = (request: nodeHttp.IncomingMessage): Promise<string> =>
  new Promise((resolve) => {
    let body = ""
    request.on("data", (chunk: Buffer) => (body += chunk.toString()))
    request.on("end", () => resolve(body))
  })

describe("over a real connection", () => {
  const bodies: ReadonlyArray<[string, () => NonNullable<RequestInit["body"]>]> = [
    ["text", () => "the whole body"],
    ["bytes", () => new TextEncoder().encode("the whole body")],
    ["a blob", () => new Blob(["the whole body"])],
    ["a form", () => new URLSearchParams({ text: "the whole body" })],
    ["a stream", () => new Blob(["the whole body"]).stream()]
  ]
  for (const [name, body] of bodies) {
    it.live(`a body arrives: ${name}`, () =>
      Effect.gen(function* () {
        const client = yield* over((request, response) => void collect(request).then((body) => response.end(body)))
        const response = yield* Effect.promise(() =>
          client.fetch("/add", { method: "POST", body: body(), duplex: "half" } as RequestInit)
        )
        assert.include((yield* Effect.promise(() => response.text())).replaceAll("+", " "), "the whole body")
      })
    )
  }

  it.live("a body arrives whole also when the service was starting at first", () =>
    Effect.gen(function* () {
      let requests = 0
      const client = yield* over(
        (request, response) =>
          void collect(request).then((body) =>
            requests++ === 0
              ? response.writeHead(503, { [refusalHeader]: "service_starting" }).end("{}")
              : response.end(`${request.method} ${request.headers["content-type"]} ${body}`)
          )
      )
      const init = { method: "POST", body: "the whole body", headers: { "content-type": "text/mine" } }
      const response = yield* Effect.promise(() => client.fetch("/add", init))
      assert.strictEqual(yield* Effect.promise(() => response.text()), "POST text/mine the whole body")
    })
  )

  it.live("what may have landed is sent again only when idempotent says so", () =>
    Effect.gen(function* () {
      let requests = 0
      const client = yield* over((_, response) =>
        requests++ % 2 === 0 ? response.socket!.destroy() : response.end("done")
      )
      const lost = yield* Effect.promise(() => reasonOf(client.fetch("/add", { method: "POST" })))
      assert.deepInclude(lost, { _tag: "TransportLost", landed: "maybe" })
      assert.strictEqual(requests, 1)
      requests = 0
      const response = yield* Effect.promise(() => client.fetch("/add", { method: "POST", idempotent: true }))
      assert.strictEqual(yield* Effect.promise(() => response.text()), "done")
    })
  )

  it.live("events begin with reopened again after the connection was cut, also in the middle of an event", () =>
    Effect.gen(function* () {
      let requests = 0
      const client = yield* over((_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(`data: ${++requests}\n\ndata: ha`, () => response.socket!.destroy())
      })
      const events = yield* Effect.promise(() => take(client.events("/events"), 4))
      assert.deepStrictEqual(
        events.map(({ data, event }) => [event, data]),
        [
          ["reopened", undefined],
          ["message", 1],
          ["reopened", undefined],
          ["message", 2]
        ]
      )
    })
  )

  it.live("an abort ends a body that is still coming", () =>
    Effect.gen(function* () {
      let closed = false
      const client = yield* over((_, response) => {
        response.writeHead(200)
        response.write("first")
        response.on("close", () => (closed = true))
      })
      const controller = new AbortController()
      const reason = new Error("mine")
      const response = yield* Effect.promise(() => client.fetch("/x", { signal: controller.signal }))
      const reading = reasonOf(response.text())
      controller.abort(reason)
      assert.strictEqual(yield* Effect.promise(() => reading), reason)
      yield* until("the connection is closed", () => closed)
    })
  )
})

describe("a body that is cut in the middle", () => {
  it.live("is a TransportLost that names the address, however it is read, and as part of an event stream too", () =>
    Effect.gen(function* () {
      const client = yield* over((request, response) => {
        response.writeHead(request.url === "/teapot" ? 418 : 200, { "content-type": "text/plain" })
        response.write("first", () => response.socket!.destroy())
      })
      const reads: ReadonlyArray<(response: Response) => Promise<unknown>> = [
        (response) => response.text(),
        (response) => response.json(),
        (response) => response.arrayBuffer(),
        (response) => take(response.body!, 100)
      ]
      for (const method of ["GET", "POST"]) {
        for (const read of reads) {
          const error = yield* Effect.promise(async () => reasonOf(read(await client.fetch("/half?q=1", { method }))))
          assert.isTrue(isLost(error))
          const { action, landed, message, url } = error as Record<string, string>
          assert.match(url!, /^http:\/\/127\.0\.0\.1:\d+$/)
          assert.deepStrictEqual(
            [message, action, landed],
            [
              `The connection to the background service at ${url} was lost during ${method} /half.`,
              method === "GET" ? "Try again." : "Check whether it was done before you try again.",
              "maybe"
            ]
          )
        }
      }
      yield* Effect.promise(() => client.fetch("/half")) // nobody reads this one
      assert.deepInclude(yield* Effect.promise(() => reasonOf(take(client.events("/teapot"), 1))), {
        _tag: "UnexpectedAnswer",
        status: 418,
        path: "/teapot",
        action: "Ask a path that has one."
      })
    })
  )
})

describe("dispose", () => {
  test("stops telling listeners, and leaves the service that the caller owns", async (client) => {
    client.subscribe(() => undefined)
    await client.dispose()
    await client.dispose()
  })

  it.live("ends everything this client does: calls and iterations that wait settle", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
      const layer = ServiceClient.layer({ ...spec, directory }, { access: "attach" }) // waits for ever: nobody may start one
      const client = fromEffect(yield* Layer.buildWithScope(layer, scope))
      const settled: Array<string> = []
      const pending = [
        client.reconnect().then(
          () => "reconnect",
          () => "reconnect"
        ),
        take(client.status(), 100).then(
          () => "status",
          () => "status"
        ),
        take(client.events("/events"), 100).then(
          () => "events",
          () => "events"
        )
      ]
      for (const one of pending) void one.then((name) => settled.push(name))
      yield* until("it has looked", () => client.current().status.type === "missing")
      yield* Effect.promise(() => client.dispose())
      yield* until("all of them settle", () => settled.length === 3, 3000)
    })
  )
})

it("in all of this no rejection went unhandled", async () => {
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepStrictEqual(unhandled, [])
})
