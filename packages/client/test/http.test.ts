import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import { tokenHeader } from "@holdfast/lifecycle/Credential"
import { refusalHeader, type RefusalCode, statusOf } from "@holdfast/lifecycle/Refusal"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import type * as Scope from "effect/Scope"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as http from "node:http"
import type * as net from "node:net"
import type { Session } from "@holdfast/lifecycle/Credential"
import { type Endpoint, lost, make, type ServiceHttp } from "../src/internal/http.ts"
import { idempotent, isLost } from "../src/Transport.ts"
import { addressOf, registration } from "./support.ts"

interface Seen {
  readonly method: string
  readonly url: string
  readonly token: string | undefined
  readonly body: string
}

/** An owner that answers each request as the next step of its script says; the last step is repeated. */
type Step = (response: http.ServerResponse, request: http.IncomingMessage) => void
const owner = (name: string, ...script: ReadonlyArray<Step>) =>
  Effect.gen(function* () {
    const seen: Array<Seen> = []
    const server = http.createServer((request, response) => {
      let body = ""
      request.on("data", (chunk: Buffer) => (body += chunk.toString()))
      request.on("end", () => {
        const token = request.headers[tokenHeader]
        seen.push({
          method: request.method!,
          url: request.url!,
          token: typeof token === "string" ? token : undefined,
          body
        })
        script[Math.min(seen.length, script.length) - 1]!(response, request)
      })
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.callback<void>((resume) => (server.close(() => resume(Effect.void)), server.closeAllConnections()))
    )
    const { port } = server.address() as net.AddressInfo
    const session: Session = {
      registration: { ...registration, instanceID: name, url: `http://127.0.0.1:${port}` },
      address: addressOf(port),
      token: `token of ${name}`
    }
    return { port, seen, session }
  })

const answer =
  (body: string, status = 200): Step =>
  (response) =>
    response.writeHead(status, { "content-type": "text/plain" }).end(body)
const refuse =
  (code: RefusalCode, more: object = {}): Step =>
  (response) =>
    response
      .writeHead(statusOf[code], { [refusalHeader]: code, "content-type": "application/json" })
      .end(JSON.stringify({ code, message: "Words.", ...more }))
const cut: Step = (response) => response.socket!.destroy()
const cutInBody: Step = (response) => {
  response.writeHead(200, { "content-length": 100 })
  response.write("half", () => response.socket!.destroy())
}

/** A client that knows one session, and finds the others one after the other; the last is found again and again. */
const client = (known: Session | undefined, ...found: ReadonlyArray<Session>) =>
  Effect.gen(function* () {
    let looks = 0
    const endpoint: Endpoint = {
      known: Effect.succeed(known),
      found: Effect.suspend(() => {
        const next = found[Math.min(looks++, found.length - 1)]
        return next === undefined ? lost("", "no") : Effect.succeed(next)
      })
    }
    const base = yield* HttpClient.HttpClient
    return { http: make(base, endpoint), looks: () => looks }
  })

const live = <A, E>(name: string, body: () => Effect.Effect<A, E, HttpClient.HttpClient | Scope.Scope>) =>
  it.live(name, () => body().pipe(Effect.provide(NodeHttpClient.layerNodeHttp)))

const text = (effect: ReturnType<ServiceHttp["execute"]>) => Effect.flatMap(effect, (response) => response.text)
const nobody: Session = { registration, address: addressOf(1), token: "t" }

describe("a request to the service", () => {
  live("goes to the address it has, with the token, and looks for no other", () =>
    Effect.gen(function* () {
      const one = yield* owner("one", answer("hello"))
      const { http, looks } = yield* client(one.session)
      assert.strictEqual(yield* text(http.get("/search?q=a%20b", { urlParams: { n: "1" } })), "hello")
      assert.deepStrictEqual(
        one.seen,
        [{ method: "GET", url: "/search?q=a+b&n=1", token: "token of one", body: "" }].map((seen) => ({
          ...seen,
          url: one.seen[0]!.url
        }))
      )
      assert.match(one.seen[0]!.url, /^\/search\?q=a(\+|%20)b&n=1$/)
      assert.strictEqual(looks(), 0)
    })
  )

  live("serves a typed client that is built once, over a change of owner", () =>
    Effect.gen(function* () {
      const json =
        (value: unknown): Step =>
        (response) =>
          response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value))
      const [one, two] = [
        yield* owner("one", json({ n: 1 }), refuse("service_stopping")),
        yield* owner("two", json({ n: 2 }))
      ]
      const group = HttpApiGroup.make("count").add(
        HttpApiEndpoint.get("get", "/count", { success: Schema.Struct({ n: Schema.Int }) })
      )
      const { http } = yield* client(one.session, two.session)
      const typed = yield* HttpApiClient.makeWith(HttpApi.make("count").add(group), { httpClient: http })
      assert.deepStrictEqual(yield* typed.count.get(), { n: 1 })
      assert.deepStrictEqual(yield* typed.count.get(), { n: 2 })
    })
  )

  live("for another place stays where the service is", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* owner("one", answer("hello")), yield* owner("other", answer("other"))]
      const { http } = yield* client(one.session, one.session)
      for (const url of [
        `http://127.0.0.1:${other.port}/x`,
        `//127.0.0.1:${other.port}/x`,
        `@127.0.0.1:${other.port}/x`,
        `.evil.example/x`
      ]) {
        yield* Effect.exit(http.get(url).pipe(Effect.timeout("2 seconds")))
      }
      assert.deepStrictEqual(other.seen, [], "its token is for the service alone")
    })
  )
})

describe("a request that the application has not seen is sent again, whatever its method", () => {
  const body = HttpClientRequest.bodyText("the whole body")
  const post = HttpClientRequest.post("/add").pipe(body)

  live("while the service starts it is waited out", () =>
    Effect.gen(function* () {
      const one = yield* owner("one", refuse("service_starting"), refuse("service_starting"), answer("done"))
      const { http, looks } = yield* client(one.session, one.session)
      assert.strictEqual(yield* text(http.execute(post)), "done")
      assert.deepStrictEqual(
        one.seen.map(({ body, method }) => [method, body]),
        Array.from({ length: 3 }, () => ["POST", "the whole body"])
      )
      assert.strictEqual(looks(), 2, "each time it waits for a service that is ready")
    })
  )

  live("while the service stops it goes to the next owner, with the next token", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* owner("one", refuse("service_stopping")), yield* owner("two", answer("done"))]
      const { http } = yield* client(one.session, two.session)
      assert.strictEqual(yield* text(http.execute(post)), "done")
      assert.deepStrictEqual(two.seen, [{ method: "POST", url: "/add", token: "token of two", body: "the whole body" }])
    })
  )

  live("with a token of before it gets a new one", () =>
    Effect.gen(function* () {
      const one = yield* owner("one", refuse("unauthenticated"), answer("done"))
      const { http } = yield* client({ ...one.session, token: "old" }, one.session)
      assert.strictEqual(yield* text(http.execute(post)), "done")
      assert.deepStrictEqual(
        one.seen.map(({ token }) => token),
        ["old", "token of one"]
      )
    })
  )

  live("where nobody listens any more it goes to the next owner", () =>
    Effect.gen(function* () {
      const two = yield* owner("two", answer("done"))
      const { http } = yield* client(nobody, two.session)
      assert.strictEqual(yield* text(http.execute(post)), "done")
      assert.strictEqual(two.seen.length, 1)
    })
  )

  const bytes = new TextEncoder().encode("the whole body")
  const bodies: ReadonlyArray<[string, () => HttpBody.HttpBody]> = [
    ["bytes", () => HttpBody.uint8Array(bytes)],
    ["JSON", () => HttpBody.jsonUnsafe("the whole body")],
    ["a stream", () => HttpBody.stream(Stream.make(bytes))]
  ]
  for (const [name, make] of bodies) {
    live(`its body arrives whole in the end: ${name}`, () =>
      Effect.gen(function* () {
        const one = yield* owner("one", refuse("service_starting"), answer("done"))
        const { http } = yield* client(one.session, one.session)
        assert.strictEqual(
          yield* text(http.execute(HttpClientRequest.setBody(HttpClientRequest.post("/add"), make()))),
          "done"
        )
        assert.include(one.seen.at(-1)!.body, "the whole body")
      })
    )
  }
})

describe("a request that may have landed", () => {
  const post = HttpClientRequest.post("/add")

  live("is not sent twice: the loss says so", () =>
    Effect.gen(function* () {
      for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
        const one = yield* owner("one", cut, answer("done"))
        const { http } = yield* client(one.session, one.session)
        const error = yield* Effect.flip(http.execute(HttpClientRequest.make(method)("/add")))
        assert.deepInclude(error, { _tag: "TransportLost", landed: "maybe" }, method)
        assert.strictEqual(one.seen.length, 1)
      }
    })
  )

  live("is sent again when its method does no harm", () =>
    Effect.gen(function* () {
      for (const method of ["GET", "HEAD", "OPTIONS"] as const) {
        const one = yield* owner("one", cut, cut, answer("done"))
        const { http } = yield* client(one.session, one.session)
        assert.strictEqual((yield* http.execute(HttpClientRequest.make(method)("/x"))).status, 200, method)
        assert.strictEqual(one.seen.length, 3)
      }
    })
  )

  live("is sent again when its author says that it does no harm, and only then", () =>
    Effect.gen(function* () {
      const one = yield* owner("one", cut, answer("done"))
      const { http } = yield* client(one.session, one.session)
      assert.strictEqual(yield* text(idempotent(http.execute(post))), "done")
      assert.strictEqual(one.seen.length, 2)
      const two = yield* owner("two", cut)
      const after = yield* client(two.session, two.session)
      assert.deepInclude(yield* Effect.flip(after.http.execute(post)), { landed: "maybe" })
      assert.strictEqual(two.seen.length, 1)
    })
  )

  live("and was answered in half is the reader's to judge", () =>
    Effect.gen(function* () {
      const one = yield* owner("one", cutInBody)
      const { http } = yield* client(one.session, one.session)
      assert.isTrue(isLost(yield* Effect.flip(text(http.get("/x")))))
      assert.strictEqual(one.seen.length, 1)
    })
  )
})

describe("a loss says what was asked of whom, and what to do", () => {
  const words = (error: unknown) => {
    const { action, landed, message, url } = error as Record<string, string>
    return { message, action, landed, url }
  }

  live("it did not arrive", () =>
    Effect.gen(function* () {
      const { http } = yield* client(nobody, nobody)
      for (const method of ["GET", "POST"] as const)
        assert.deepStrictEqual(
          words(yield* Effect.flip(http.execute(HttpClientRequest.make(method)("/add?key=1#x")))),
          {
            message: `${method} /add did not reach the background service at ${registration.url}.`,
            action: "Try again.",
            landed: "no",
            url: registration.url
          }
        )
    })
  )

  live("it may have been done, so that a person looks first; what changes nothing is simply tried again", () =>
    Effect.gen(function* () {
      const one = yield* owner("one", cut)
      const { http } = yield* client(one.session, one.session)
      const { url } = one.session.registration
      for (const [method, action] of [
        ["POST", "Check whether it was done before you try again."],
        ["GET", "Try again."]
      ] as const)
        assert.deepStrictEqual(words(yield* Effect.flip(http.execute(HttpClientRequest.make(method)("/add")))), {
          message: `The connection to the background service at ${url} was lost during ${method} /add.`,
          action,
          landed: "maybe",
          url
        })
    })
  )

  live("nobody was there", () =>
    Effect.gen(function* () {
      const { http } = yield* client(undefined)
      assert.deepStrictEqual(words(yield* Effect.flip(http.get("/x"))), {
        message: "There is no background service to answer GET /x.",
        action: "Try again.",
        landed: "no",
        url: ""
      })
    })
  )

  live("a service that refuses again and again", () =>
    Effect.gen(function* () {
      const one = yield* owner("one", refuse("service_stopping"))
      const { http } = yield* client(one.session, one.session)
      const { url } = one.session.registration
      assert.deepInclude(words(yield* Effect.flip(http.execute(HttpClientRequest.post("/add")))), {
        message: `POST /add did not reach the background service at ${url}.`,
        landed: "no"
      })
    })
  )

  live("a path of any length and kind is one line of it", () =>
    Effect.gen(function* () {
      const { http } = yield* client(nobody, nobody)
      const { message } = words(yield* Effect.flip(http.get(`/${"x".repeat(5000)}\n\u001b[2J`)))
      assert.match(message!, /^[^\p{Cc}]{1,400}$/u)
    })
  )
})

describe("it ends", () => {
  live("after four losses, with the last one", () =>
    Effect.gen(function* () {
      const one = yield* owner("one", cut)
      const { http } = yield* client(one.session, one.session)
      assert.deepInclude(yield* Effect.flip(http.get("/x")), {
        _tag: "TransportLost",
        landed: "maybe",
        url: one.session.registration.url
      })
      assert.strictEqual(one.seen.length, 4)
    })
  )

  live("when there is no service to find", () =>
    Effect.gen(function* () {
      const { http } = yield* client(undefined)
      assert.deepInclude(yield* Effect.flip(http.get("/x").pipe(Effect.timeout("2 seconds"))), {
        _tag: "TransportLost",
        landed: "no"
      })
    })
  )

  live("with the failure of a service that could not start, in its own words", () =>
    Effect.gen(function* () {
      const one = yield* owner("one", refuse("service_failed", { message: "There is no index.", action: "Run: index" }))
      const { http } = yield* client(one.session, one.session)
      assert.deepInclude(yield* Effect.flip(http.get("/x")), {
        _tag: "ServiceFailed",
        message: "There is no index.",
        action: "Run: index"
      })
      assert.strictEqual(one.seen.length, 1)
    })
  )

  live("with a failure whose words were lost on the way, in words of ours", () =>
    Effect.gen(function* () {
      const broken: Step = (response) => response.writeHead(503, { [refusalHeader]: "service_failed" }).end("{ half")
      const one = yield* owner("one", broken)
      const { http } = yield* client(one.session, one.session)
      const error = yield* Effect.flip(http.get("/x"))
      assert.deepInclude(error, { _tag: "ServiceFailed", message: "The service could not start." })
    })
  )

  live("with the application's own answer, whatever its status", () =>
    Effect.gen(function* () {
      for (const status of [200, 204, 301, 400, 401, 403, 404, 409, 500, 503]) {
        const one = yield* owner("one", (response) => response.writeHead(status, { location: "/elsewhere" }).end())
        const { http } = yield* client(one.session, one.session)
        assert.strictEqual((yield* http.get("/x")).status, status)
        assert.strictEqual(one.seen.length, 1)
      }
    })
  )

  live("with a refusal that asking again does not change, as its caller's to read", () =>
    Effect.gen(function* () {
      for (const code of [
        "bad_request",
        "too_large",
        "not_found",
        "method_not_allowed",
        "browser_origin",
        "foreign_host"
      ] as const) {
        const one = yield* owner("one", refuse(code))
        const { http } = yield* client(one.session, one.session)
        const exit = yield* Effect.exit(http.get("/service/nope"))
        assert.deepInclude(exit, { _tag: "Success" }, code)
        if (exit._tag === "Success") assert.strictEqual(exit.value.status, statusOf[code])
        assert.strictEqual(one.seen.length, 1, code)
      }
    })
  )
})
