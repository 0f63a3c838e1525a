import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FindMyWay from "effect/http/FindMyWay"
import type * as Http from "node:http"
import * as http from "node:http"
import * as net from "node:net"
import * as Credential from "../src/Credential.ts"
import * as LifecycleShell from "../src/LifecycleShell.ts"
import {
  type Ask,
  ask,
  instanceID,
  openShell,
  parse,
  proved,
  ready,
  secretIn,
  sendRaw,
  temporary,
  until
} from "./support.ts"

describe("the application's requests", () => {
  it.live("reach it only with the token, and only while it is ready", () =>
    Effect.gen(function* () {
      const opened = yield* ready
      assert.strictEqual((yield* ask(opened, { target: "/search" })).status, 401)
      assert.strictEqual(
        (yield* ask(opened, { target: "/search", headers: { [Credential.tokenHeader]: "wrong" } })).status,
        401
      )
      assert.deepInclude(yield* ask(opened, { target: "/search", headers: proved(opened) }), {
        status: 200,
        body: "the application"
      })
      assert.strictEqual(opened.seen.length, 1)
      opened.shell.dispatch({ type: "StopAsked" })
      assert.strictEqual((yield* ask(opened, { target: "/search", headers: proved(opened) })).status, 503)
      assert.strictEqual(opened.seen.length, 1)
    })
  )

  it.live("arrive as they were sent, target, method, headers and body, but for the token", () =>
    Effect.gen(function* () {
      const opened = yield* openShell()
      let body = ""
      let seen: Http.IncomingMessage | undefined
      opened.shell.mount((request, response) => {
        seen = request
        request.on("data", (chunk: Buffer) => (body += chunk.toString()))
        request.on("end", () => response.end())
      })
      opened.shell.dispatch({ type: "Booted" })
      const target = "/a%20b//c/?q=%2F&service=/service/"
      yield* ask(opened, {
        method: "PUT",
        target,
        body: "höw",
        headers: proved(opened, { authorization: "Bearer mine", "X-Mine": "1" })
      })
      assert.strictEqual(seen?.url, target)
      assert.strictEqual(seen?.method, "PUT")
      assert.strictEqual(body, "höw")
      assert.deepInclude(seen?.headers, { authorization: "Bearer mine", "x-mine": "1" })
    })
  )

  it.live("carry no token any more, wherever it is looked for", () =>
    Effect.gen(function* () {
      const opened = yield* ready
      yield* ask(opened, { headers: proved(opened, { "x-mine": "1" }) })
      const [request] = opened.seen
      assert.strictEqual(request!.headers["x-mine"], "1")
      for (const place of [request!.headers, request!.headersDistinct, request!.rawHeaders]) {
        assert.notInclude(JSON.stringify(place), opened.token)
        assert.notInclude(JSON.stringify(place).toLowerCase(), Credential.tokenHeader)
      }
    })
  )

  it.live("keep their connection when the application is swapped in behind it", () =>
    Effect.gen(function* () {
      const opened = yield* openShell()
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
      const get = Effect.callback<{ readonly status: number; readonly port: number }>((resume) => {
        http.get({ host: "127.0.0.1", port: opened.port, path: "/x", agent, headers: proved(opened) }, (response) => {
          const port = (response.socket as net.Socket).localPort!
          response.resume().on("end", () => resume(Effect.succeed({ status: response.statusCode!, port })))
        })
      })
      const before = yield* get
      opened.shell.mount((_, response) => response.end("the application"))
      opened.shell.dispatch({ type: "Booted" })
      const after = yield* get
      agent.destroy()
      assert.deepStrictEqual([before.status, after.status, after.port === before.port], [503, 200, true])
    })
  )
})

describe("what the application's router takes for a path under /service never reaches the application", () => {
  const router = FindMyWay.make<string>({})
  for (const path of ["/service", "/service/*"] as const) router.on("GET", path, path)
  const targets = [
    "/service",
    "/service/",
    "/service?x",
    "/service/health",
    "/service/health?x=/a",
    "/service/nope",
    "/service//health",
    "/%73ervice/health",
    "/%73%65%72%76%69%63%65/%68ealth",
    "//service/health",
    "///service",
    "/SERVICE/health",
    "/service;x=1",
    "/service#x",
    "http://127.0.0.1/service/health",
    "http://evil.example/service/health"
  ]
  it.live.each(targets)("%s", (target) =>
    Effect.gen(function* () {
      assert.isDefined(router.find("GET", target), "the router does take it for one")
      const opened = yield* ready
      const { body } = yield* ask(opened, { target, headers: proved(opened) })
      assert.strictEqual(opened.seen.length, 0, body)
      assert.notInclude(body, "the application")
    })
  )

  it.live.each([
    "/services",
    "/service-x",
    "/a/service/health",
    "/service.json",
    "/",
    "/?/service/health",
    "/a%2Fservice%2Fb"
  ])("%s is the application's own", (target) =>
    Effect.gen(function* () {
      const opened = yield* ready
      assert.deepInclude(yield* ask(opened, { target, headers: proved(opened) }), {
        status: 200,
        body: "the application"
      })
    })
  )

  it.live("a method that is not the path's own is 405, before and after the proof", () =>
    Effect.gen(function* () {
      const opened = yield* ready
      const own: Readonly<Record<string, string>> = {
        "/service/health": "GET",
        "/service/events": "GET",
        "/service/session": "POST",
        "/service/stop": "POST"
      }
      for (const [target, method] of Object.entries(own)) {
        for (const wrong of ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"].filter((one) => one !== method)) {
          for (const headers of [{}, proved(opened)]) {
            const answer = yield* ask(opened, { method: wrong, target, headers })
            assert.strictEqual(answer.status, 405, `${wrong} ${target}`)
            assert.include(answer.body, `Use ${method}.`)
          }
        }
      }
      assert.strictEqual(opened.shell.status().type, "ready")
    })
  )
})

describe("requests in flight", () => {
  /** A ready shell whose application answers when the test says so. */
  const slow = Effect.gen(function* () {
    const opened = yield* openShell()
    const answers: Array<Http.ServerResponse> = []
    opened.shell.mount((_, response) => void answers.push(response))
    opened.shell.dispatch({ type: "Booted" })
    const start = (request: Ask = {}) => Effect.forkChild(ask(opened, { headers: proved(opened), ...request }))
    return { ...opened, answers, start }
  })
  const settled = (promise: Promise<unknown>) => {
    const state = { done: false }
    void promise.then(() => (state.done = true))
    return state
  }

  it.live("are waited for by drained(), those of the shell itself are not", () =>
    Effect.gen(function* () {
      const { answers, shell, start, token } = yield* slow
      yield* Effect.promise(() => shell.drained())
      for (const count of [1, 2]) {
        yield* start()
        yield* until("the request is with the application", () => answers.length === count)
      }
      yield* start({ target: "/service/events", headers: { [Credential.tokenHeader]: token } })
      const drained = settled(shell.drained())
      answers[0]!.end("one")
      yield* until("the first is answered", () => answers[0]!.closed)
      assert.isFalse(drained.done)
      answers[1]!.end("two")
      yield* until("all is drained", () => drained.done)
    })
  )

  it.live("are waited for by everybody who asks", () =>
    Effect.gen(function* () {
      const { answers, shell, start } = yield* slow
      yield* start()
      yield* until("the request is with the application", () => answers.length === 1)
      const both = [settled(shell.drained()), settled(shell.drained())]
      answers[0]!.end()
      yield* until("both hear that it is drained", () => both.every(({ done }) => done))
    })
  )

  it.live("whose client went away are not waited for", () =>
    Effect.gen(function* () {
      const { answers, endpoint, port, shell, token } = yield* slow
      const socket = net.connect(port, "127.0.0.1")
      socket.write(`GET / HTTP/1.1\r\nHost: ${endpoint}\r\n${Credential.tokenHeader}: ${token}\r\n\r\n`)
      yield* until("the request is with the application", () => answers.length === 1)
      const drained = settled(shell.drained())
      socket.destroy()
      yield* until("all is drained", () => drained.done)
    })
  )

  it.live("go on while it stops, and new ones are refused", () =>
    Effect.gen(function* () {
      const { answers, endpoint, port, shell, token } = yield* slow
      const answer = sendRaw(
        port,
        `GET / HTTP/1.1\r\nHost: ${endpoint}\r\nConnection: close\r\n${Credential.tokenHeader}: ${token}\r\n\r\n`
      )
      yield* until("the request is with the application", () => answers.length === 1)
      shell.dispatch({ type: "StopAsked" })
      assert.strictEqual((yield* ask({ endpoint, port }, { headers: { [Credential.tokenHeader]: token } })).status, 503)
      answers[0]!.end("done")
      assert.deepInclude(parse(yield* Effect.promise(() => answer)), { status: 200 })
    })
  )
})

describe("closing", () => {
  it.live("ends everything that is connected, frees the port, and may be asked for twice", () =>
    Effect.gen(function* () {
      const opened = yield* openShell()
      opened.shell.mount(() => undefined)
      opened.shell.dispatch({ type: "Booted" })
      const head = `Host: ${opened.endpoint}\r\n${Credential.tokenHeader}: ${opened.token}\r\n\r\n`
      const connected = [
        `GET /service/events HTTP/1.1\r\n${head}`,
        `GET /hangs HTTP/1.1\r\n${head}`,
        "GET /half",
        `GET /service/health HTTP/1.1\r\n${head}`
      ].map((text) => sendRaw(opened.port, text))
      const idle = net.connect(opened.port, "127.0.0.1").on("error", () => undefined)
      const told: Array<Buffer> = []
      idle.on("data", (data) => told.push(data))
      yield* until("an idle client is connected", () => !idle.connecting)
      yield* Effect.promise(() => opened.shell.close()).pipe(Effect.timeout("2 seconds"))
      yield* Effect.promise(() => Promise.all(connected))
      yield* until("the idle client is cut off, too", () => idle.closed)
      assert.include(Buffer.concat(told).toString(), "service_stopping")
      yield* Effect.promise(() => opened.shell.close()).pipe(Effect.timeout("2 seconds"))
      const again = yield* openShell({ port: opened.port })
      assert.strictEqual(again.shell.url, opened.shell.url)
    })
  )

  it.live("opening on a port that is taken is the system's error, and the other one goes on", () =>
    Effect.gen(function* () {
      const opened = yield* openShell()
      const secret = secretIn(yield* temporary)
      const error = yield* Effect.promise(() =>
        LifecycleShell.open({ version: "1", instanceID, secret, token: "t", port: opened.port, drainMs: 1 }).then(
          () => undefined,
          (error: NodeJS.ErrnoException) => error
        )
      )
      assert.strictEqual(error?.code, "EADDRINUSE")
      assert.strictEqual((yield* ask(opened, { target: "/service/health", headers: proved(opened) })).status, 200)
    })
  )

  it.live("only the loopback address is bound", () =>
    Effect.gen(function* () {
      const opened = yield* openShell()
      assert.match(opened.shell.url, /^http:\/\/127\.0\.0\.1:\d+$/)
      for (const host of ["127.0.0.2", "::1"]) {
        const code = yield* Effect.callback<string>((resume) => {
          const socket = net.connect(opened.port, host)
          socket.on("connect", () => (socket.destroy(), resume(Effect.succeed("connected"))))
          socket.on("error", (error: NodeJS.ErrnoException) => resume(Effect.succeed(error.code ?? "")))
        })
        assert.notStrictEqual(code, "connected", host)
      }
    })
  )
})
