import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Application from "@holdfast/lifecycle/Application"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import { inspect } from "node:util"
import { ServiceFailed } from "../src/ClientError.ts"
import * as http from "../src/internal/http.ts"
import { createServiceClient, fromEffect, type PromiseServiceClient } from "../src/promise.ts"
import { ServiceClient } from "../src/ServiceClient.ts"
import { isLost } from "../src/Transport.ts"
import { session, spec, temporary, until } from "./support.ts"

const unhandled: Array<unknown> = []
const note = (reason: unknown) => void unhandled.push(reason)
beforeAll(() => void process.on("unhandledRejection", note))
afterAll(() => void process.off("unhandledRejection", note))

const application = Application.make(
  HttpRouter.addAll([
    HttpRouter.route("*", "/hello", Effect.succeed(HttpServerResponse.text("hello"))),
    HttpRouter.route(
      "GET",
      "/events",
      Effect.succeed(
        HttpServerResponse.stream(Stream.concat(Stream.encodeText(Stream.make("data: 1\n\n")), Stream.never), {
          contentType: "text/event-stream"
        })
      )
    )
  ])
)

type Service = ServiceClient["Service"]

const working = Effect.map(Layer.build(ServiceClient.layerInProcess(spec, application)), (context) =>
  Context.get(context, ServiceClient)
)

/** A service each of whose calls is this effect, also a request on its way. */
const allOf = (effect: Effect.Effect<never, any>): Effect.Effect<Service, never, Scope.Scope> =>
  Effect.map(Effect.orDie(working), (service) => {
    const call = () => effect as Effect.Effect<never>
    const base = HttpClient.make(() => effect)
    const found = Effect.succeed(session)
    return {
      ...service,
      launch: call,
      reconnect: call,
      ensure: call,
      restart: call,
      stop: call,
      changes: Stream.fromEffect(effect) as Stream.Stream<never>,
      http: http.make(base, { known: found, found })
    }
  })

const over = (service: Service): PromiseServiceClient => fromEffect(Context.make(ServiceClient, service))

interface Call {
  readonly signal?: AbortSignal
}
const first = async (iterable: AsyncIterable<unknown>): Promise<unknown> => {
  for await (const one of iterable) return one
  return "nothing"
}

/** Every way in. */
const calls: ReadonlyArray<[string, (client: PromiseServiceClient, call?: Call) => Promise<unknown>]> = [
  ["launch", (client, call) => client.launch(call)],
  ["reconnect", (client, call) => client.reconnect(call)],
  ["ensure", (client, call) => client.ensure(call)],
  ["restart", (client, call) => client.restart(call)],
  ["stop", (client, call) => client.stop(call)],
  ["status", (client, call) => first(client.status(call))],
  ["fetch", (client, call) => client.fetch("/hello", call)],
  ["fetch of a POST", (client, call) => client.fetch("/hello", { ...call, method: "POST", body: "1" })],
  ["events", (client, call) => first(client.events("/events", call))]
]

/** How a promise ends, within a time. */
const endOf = (promise: Promise<unknown>, withinMs = 1000): Effect.Effect<{ value?: unknown; reason?: unknown }> =>
  Effect.promise(() =>
    promise.then(
      (value) => ({ value }),
      (reason: unknown) => ({ reason })
    )
  ).pipe(
    Effect.timeout(withinMs),
    Effect.catchTag("TimeoutError", () => Effect.die(new Error(`It is not settled after ${withinMs} ms.`)))
  )

const reason = new Error("mine")

describe.each(calls)("%s", (_, call) => {
  it.live("aborted before: rejects with the signal's reason, and the service is not asked", () =>
    Effect.gen(function* () {
      let asked = 0
      const client = over(yield* allOf(Effect.suspend(() => (asked++, Effect.never))))
      assert.deepStrictEqual(yield* endOf(call(client, { signal: AbortSignal.abort(reason) })), { reason })
      yield* Effect.promise(() => client.dispose())
      assert.isAtMost(asked, 1, "following is the client's own")
    })
  )

  it.live("aborted while it waits: rejects with the signal's reason at once, and what it did is undone", () =>
    Effect.gen(function* () {
      const undone = yield* Deferred.make<void>()
      const waits = Effect.onInterrupt(Effect.never, () => Deferred.succeed(undone, undefined))
      const client = over(yield* allOf(waits))
      const controller = new AbortController()
      const waiting = call(client, { signal: controller.signal })
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      const before = performance.now()
      controller.abort(reason)
      assert.deepStrictEqual(yield* endOf(waiting), { reason })
      yield* Deferred.await(undone).pipe(Effect.timeout("1 second"))
      assert.isBelow(performance.now() - before, 300)
      yield* Effect.promise(() => client.dispose())
    })
  )

  it.live("aborted afterwards: what it gave stays, and the client works on", () =>
    Effect.gen(function* () {
      const client = over(yield* working)
      const controller = new AbortController()
      const { value } = yield* endOf(call(client, { signal: controller.signal }))
      if (value instanceof Response) assert.strictEqual(yield* Effect.promise(() => value.text()), "hello")
      else assert.isDefined(value)
      controller.abort(reason)
      assert.isDefined((yield* endOf(call(client))).value)
      yield* Effect.promise(() => client.dispose())
    })
  )

  it.live("disposed in the middle: rejects with an AbortError at once, and so does each call after it", () =>
    Effect.gen(function* () {
      const client = over(yield* allOf(Effect.never))
      const waiting = [call(client), call(client, { signal: new AbortController().signal })]
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* Effect.promise(() => Promise.all([client.dispose(), client.dispose()])).pipe(Effect.timeout("1 second"))
      for (const one of [...waiting, call(client), call(client)])
        assert.strictEqual(((yield* endOf(one)).reason as Error).name, "AbortError")
    })
  )

  it.live("a defect inside: an error with one sentence and an action, and the stack stays inside", () =>
    Effect.gen(function* () {
      const defect = new TypeError("x is not\na function")
      for (const effect of [Effect.die(defect), Effect.die("x is not\na function")]) {
        const client = over(yield* allOf(effect))
        const { reason } = yield* endOf(call(client))
        assert.deepInclude(reason, {
          _tag: "Unexpected",
          message: "Something unexpected went wrong: x is not a function",
          action: "Try again. If it stays so, report it."
        })
        assert.instanceOf(reason, Error)
        yield* Effect.promise(() => client.dispose())
      }
    })
  )

  it.live("a typed error: comes out as it is", () =>
    Effect.gen(function* () {
      const failed = new ServiceFailed({ message: "There is no index.", action: "Run: index" })
      const client = over(yield* allOf(Effect.fail(failed)))
      if (_ === "events") return // it waits for the one that repairs it
      assert.strictEqual((yield* endOf(call(client))).reason, failed)
      yield* Effect.promise(() => client.dispose())
    })
  )

  it.live("the Effect program around it has ended: an AbortError, not a fiber's", () =>
    Effect.gen(function* () {
      const client = over(yield* allOf(Effect.interrupt))
      const { reason } = yield* endOf(call(client))
      assert.strictEqual((reason as Error).name, "AbortError")
      yield* Effect.promise(() => client.dispose())
    })
  )
})

describe("a request that fails in another way than by a loss", () => {
  const reasons: ReadonlyArray<[string, (request: any) => HttpClientError.HttpClientErrorReason, boolean]> = [
    ["TransportError", (request) => new HttpClientError.TransportError({ request }), true],
    ["EncodeError", (request) => new HttpClientError.EncodeError({ request, cause: new Error("no JSON") }), false],
    ["InvalidUrlError", (request) => new HttpClientError.InvalidUrlError({ request }), false],
    [
      "StatusCodeError",
      (request) => new HttpClientError.StatusCodeError({ request, response: answer(request) }),
      false
    ],
    ["DecodeError", (request) => new HttpClientError.DecodeError({ request, response: answer(request) }), false],
    ["EmptyBodyError", (request) => new HttpClientError.EmptyBodyError({ request, response: answer(request) }), false]
  ]
  const answer = (request: any) => HttpClientResponse.fromWeb(request, new Response("{"))

  it.live.each(reasons)("%s: is told in a sentence with an action, without the token", ([, make, lost]) =>
    Effect.gen(function* () {
      const service = yield* working
      const base = HttpClient.make((request) =>
        Effect.fail(new HttpClientError.HttpClientError({ reason: make(request) }))
      )
      const found = Effect.succeed({ ...session, token: "the-token-itself" })
      const client = over({ ...service, http: http.make(base, { known: found, found }) })
      const { reason } = yield* endOf(client.fetch("/hello?q=1", { method: "POST" }))
      const { _tag, action, message } = reason as Record<string, string>
      assert.strictEqual(isLost(reason), lost)
      assert.strictEqual(_tag, lost ? "TransportLost" : "Unexpected")
      assert.match(message!, /^[^\n]+$/)
      assert.match(action!, /^[^\n]+\.$/)
      assert.notInclude(`${inspect(reason, { depth: 20 })}${JSON.stringify(reason)}`, "the-token-itself")
    })
  )
})

describe("a body that is still being read when the signal aborts", () => {
  it.live("of the request: fetch rejects at once, although it would never end", () =>
    Effect.gen(function* () {
      const client = over(yield* working)
      const controller = new AbortController()
      const body = new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array(1)) })
      const { signal } = controller
      const waiting = client.fetch("/hello", { method: "POST", body, duplex: "half", signal } as RequestInit)
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      controller.abort(reason)
      assert.deepStrictEqual(yield* endOf(waiting), { reason })
    })
  )
})

describe("a client with a runtime of its own", () => {
  it.live("is disposed before it did anything, while it does, and twice", () =>
    Effect.gen(function* () {
      const directory = `${yield* temporary}/absent/state`
      const mine = () => createServiceClient({ ...spec, directory, entry: { command: "sleep", args: ["60"] } })
      yield* Effect.promise(() => mine().dispose())
      const client = mine()
      const status = client.status()[Symbol.asyncIterator]()
      const seen = yield* endOf(status.next())
      assert.deepInclude(seen.value, { done: false })
      const waiting = status.next()
      yield* Effect.promise(() => Promise.all([client.dispose(), client.dispose()])).pipe(Effect.timeout("1 second"))
      assert.strictEqual(((yield* endOf(waiting)).reason as Error).name, "AbortError")
      for (const [, call] of calls)
        assert.strictEqual(((yield* endOf(call(client))).reason as Error).name, "AbortError")
      client.subscribe(() => undefined)()
      assert.strictEqual(client.current().status.type, "missing")
    })
  )
})

describe("a client over an Effect program's own", () => {
  it.live("leaves the program's client alone when it is disposed, and its calls end when the program does", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const directory = `${yield* temporary}/state`
      const layer = ServiceClient.layer({ ...spec, directory }, { access: "attach" })
      const context = yield* Layer.buildWithScope(layer, scope)
      const [one, two] = [fromEffect(context), fromEffect(context)]
      yield* Effect.promise(() => one.dispose())
      assert.deepInclude(yield* endOf(two.stop()), { value: { _tag: "NotRunning", sentence: "Hello is not running." } })
      let told = 0
      two.subscribe(() => void told++)
      yield* until("the second is told", () => told === 1)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(((yield* endOf(two.dispose())) as { value?: unknown }).value, undefined)
    })
  )
})

it("in all of this no rejection went unhandled", async () => {
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepStrictEqual(unhandled, [])
})
