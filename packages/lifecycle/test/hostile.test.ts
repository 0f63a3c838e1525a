import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as http from "node:http"
import * as net from "node:net"
import * as Credential from "../src/Credential.ts"
import * as LifecycleShell from "../src/LifecycleShell.ts"
import { ask, instanceID, key, type Opened, parse, proved, ready, secretIn, sendRaw, temporary } from "./support.ts"

describe("web pages and other hosts are refused before anything else is looked at", () => {
  it.live("any Origin, with the token or without, in every status", () =>
    Effect.gen(function* () {
      const opened = yield* ready
      for (const origin of ["http://evil.example", "null", "", opened.shell.url, "file://"]) {
        for (const target of ["/", "/service/health", "/service/session", "/service/stop"]) {
          const answer = yield* ask(opened, { target, method: "POST", body: "{}", headers: proved(opened, { origin }) })
          assert.strictEqual(answer.status, 403, `${origin} ${target}`)
        }
      }
      assert.strictEqual(opened.seen.length, 0)
      assert.strictEqual(opened.shell.status().type, "ready")
    })
  )

  it.live("a Host that is not the bound address, as after DNS rebinding", () =>
    Effect.gen(function* () {
      const opened = yield* ready
      const other = opened.port === 1 ? 2 : opened.port - 1
      for (const host of [
        "evil.example",
        `evil.example:${opened.port}`,
        "127.0.0.1",
        "localhost",
        `127.0.0.1:${other}`,
        `0.0.0.0:${opened.port}`,
        `127.0.0.1:${opened.port}.evil.example`,
        `[::1]:${opened.port}`,
        ""
      ]) {
        const answer = yield* ask(opened, { headers: proved(opened, { host }) })
        assert.include([400, 403], answer.status, host)
      }
      const old = yield* Effect.promise(() =>
        sendRaw(opened.port, `GET / HTTP/1.0\r\n${Credential.tokenHeader}: ${opened.token}\r\n\r\n`)
      )
      assert.strictEqual(parse(old).status, 403, "HTTP/1.0 without a Host")
      assert.strictEqual(opened.seen.length, 0)
    })
  )

  it.live("localhost is the bound address", () =>
    Effect.gen(function* () {
      const opened = yield* ready
      assert.strictEqual(
        (yield* ask(opened, { headers: proved(opened, { host: `localhost:${opened.port}` }) })).status,
        200
      )
    })
  )

  const mayBind80 = process.geteuid?.() === 0
  const why = mayBind80 ? "" : " (port 80 may be bound by root only)"
  it.live.skipIf(!mayBind80)(`a service on port 80 answers clients, which leave that port out of the Host${why}`, () =>
    Effect.gen(function* () {
      const secret = secretIn(yield* temporary)
      const options = { version: "1", instanceID, secret, token: "t", port: 80, drainMs: 1000 }
      const shell = yield* Effect.promise(() => LifecycleShell.open(options))
      const status = yield* Effect.callback<number>((resume) => {
        http.get(
          {
            host: "127.0.0.1",
            port: 80,
            path: "/service/health",
            headers: { [Credential.tokenHeader]: "t" },
            agent: false
          },
          (response) => {
            response.resume()
            resume(Effect.succeed(response.statusCode!))
          }
        )
      }).pipe(Effect.ensuring(Effect.promise(() => shell.close())))
      assert.strictEqual(status, 200)
    })
  )
})

describe("bodies that are not what they should be", () => {
  const bodies: ReadonlyArray<[string, string]> = [
    ["nothing", ""],
    ["half of it", '{"instanceID":'],
    ["a list", "[]"],
    ["null", "null"],
    ["text", '"x"'],
    ["a number", "1"],
    ["no UTF-8", "\u00ff\u00fe{"],
    ["a deep nest", "[".repeat(2000)],
    ["an object with the prototype in it", '{"__proto__":{"instanceID":"the-instance"}}'],
    ["wrong types", '{"clientNonce":1,"instanceID":{},"serverNonce":[],"proof":null}'],
    ["a target version that is no text", `{"instanceID":"${instanceID}","targetVersion":1}`]
  ]
  it.live.each(bodies)("%s is a refusal, and nobody is stopped", ([, body]) =>
    Effect.gen(function* () {
      const opened = yield* ready
      for (const target of ["/service/session", "/service/stop"]) {
        const answer = yield* ask(opened, { method: "POST", target, body, headers: proved(opened) })
        assert.include([400, 409], answer.status, target)
      }
      yield* ask(opened, { target: "/service/health", headers: proved(opened) })
      assert.strictEqual(opened.shell.status().type, "ready")
    })
  )

  const endless = (opened: Opened, head: ReadonlyArray<string>, chunk: string) =>
    Effect.promise(
      () =>
        new Promise<{ readonly received: string; readonly sent: number }>((resolve, reject) => {
          const socket = net.connect(opened.port, "127.0.0.1")
          const late = () => (socket.destroy(), reject(new Error("It is still read after 5 s.")))
          const deadline = AbortSignal.timeout(5000)
          deadline.addEventListener("abort", late)
          let received = ""
          let sent = 0
          const pour = () => {
            while (!socket.destroyed && socket.write(chunk)) sent += chunk.length
            sent += chunk.length
          }
          const end = () => (deadline.removeEventListener("abort", late), resolve({ received, sent }))
          socket.on("data", (part) => (received += part.toString()))
          socket.on("drain", pour)
          socket.on("error", () => undefined)
          socket.on("close", end)
          socket.write([...head, "", ""].join("\r\n"))
          pour()
        })
    )

  it.live.each(["/service/session", "/service/stop"])("an endless body for %s is cut off, not kept", (target) =>
    Effect.gen(function* () {
      const opened = yield* ready
      const head = [`POST ${target} HTTP/1.1`, `Host: ${opened.endpoint}`, `${Credential.tokenHeader}: ${opened.token}`]
      for (const [length, chunk] of [
        ["Content-Length: 1000000000000", "x".repeat(65_536)],
        ["Transfer-Encoding: chunked", `10000\r\n${"x".repeat(65_536)}\r\n`]
      ] as const) {
        const before = process.memoryUsage().rss
        yield* endless(opened, [...head, length], chunk)
        assert.isBelow(process.memoryUsage().rss - before, 200 * 2 ** 20)
      }
      assert.strictEqual((yield* ask(opened, { target: "/service/health", headers: proved(opened) })).status, 200)
    })
  )
})

/** Small, seeded, good enough: the same 2,000 requests in every run. */
const random = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
}

describe("two thousand hostile requests", () => {
  it.live(
    "do not stop it, crash it, reach the application, or get anything out of it",
    () =>
      Effect.gen(function* () {
        const opened = yield* ready
        const next = random(7)
        const pick = <A>(list: ReadonlyArray<A>): A => list[Math.floor(next() * list.length)]!
        const noise = (length: number) =>
          Buffer.from(Array.from({ length: Math.floor(next() * length) }, () => Math.floor(next() * 256))).toString(
            "latin1"
          )
        const nonce = () =>
          Buffer.from(Array.from({ length: 32 }, () => Math.floor(next() * 256))).toString("base64url")
        const hostile = (): string => {
          if (next() < 0.1) return noise(400)
          const body = pick([
            () => "",
            () => noise(600),
            () => JSON.stringify({ clientNonce: nonce(), instanceID }),
            () => JSON.stringify({ clientNonce: nonce(), serverNonce: nonce(), proof: nonce() }),
            () => JSON.stringify({ instanceID, targetVersion: noise(50) }),
            () => `{"instanceID":"${instanceID}"}${noise(20)}`,
            () => "x".repeat(5000),
            () => "{".repeat(3000)
          ])()
          const target = pick([
            "/",
            "/search",
            "/service/session",
            "/service/stop",
            "/service/health",
            "/service/events",
            "/service/__proto__",
            "/%00",
            "*",
            `/${noise(60)}`,
            "/service/../service/stop",
            "http://x/y",
            "/service/session?".padEnd(3000, "a")
          ])
          const lines = [
            `${next() < 0.6 ? pick(["GET", "POST", "POST"]) : pick(["PUT", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", noise(8)])} ${target} HTTP/${next() < 0.8 ? "1.1" : pick(["1.0", "2.0", "1.1 ", "9"])}`,
            `Host: ${next() < 0.7 ? opened.endpoint : pick(["evil.example", "", noise(20)])}`,
            ...(next() < 0.5 ? [`${Credential.tokenHeader}: ${pick(["", nonce(), "a".repeat(3000), noise(40)])}`] : []),
            ...(next() < 0.2
              ? [
                  pick([
                    "Upgrade: websocket\r\nConnection: Upgrade",
                    "Expect: 100-continue",
                    "Expect: tea",
                    "Transfer-Encoding: chunked",
                    "Transfer-Encoding: gzip",
                    "Content-Length: -1",
                    "Content-Length: 5\r\nContent-Length: 6",
                    "Origin: null",
                    `${noise(10)}: ${noise(10)}`
                  ])
                ]
              : []),
            ...(next() < 0.8 ? [`Content-Length: ${Math.max(0, body.length + pick([0, 0, 0, 5, -3]))}`] : [])
          ]
          return `${lines.join("\r\n")}${pick(["\r\n\r\n", "\r\n\r\n", "\r\n\r\n", "\n\n", "\r\n", ""])}${body}`
        }
        let received = ""
        const statuses = new Map<string, number>()
        const one = Effect.promise(
          () =>
            new Promise<void>((resolve) => {
              const socket = net.connect(opened.port, "127.0.0.1")
              let answer = ""
              socket.on("data", (chunk) => (answer += chunk.toString("latin1")))
              socket.on("error", () => undefined)
              socket.on("close", () => {
                const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? "none"
                statuses.set(status, (statuses.get(status) ?? 0) + 1)
                received += answer
                resolve()
              })
              socket.end(Buffer.from(hostile(), "latin1"))
            })
        ).pipe(Effect.timeout("10 seconds"))
        yield* Effect.forEach(Array.from({ length: 2000 }), () => one, { concurrency: 40, discard: true })

        assert.includeMembers(
          [...statuses.keys()],
          ["200", "400", "401", "403", "405", "413"],
          "the requests reached what they were made for"
        )
        for (const secret of [
          opened.token,
          key.toString("latin1"),
          key.toString("base64url"),
          key.toString("hex"),
          key.toString("base64")
        ]) {
          assert.isFalse(received.includes(secret))
        }
        assert.notMatch(received, /\bat .+:\d+:\d+|node:internal|Error:/)
        assert.strictEqual(opened.seen.length, 0)
        assert.strictEqual(opened.shell.status().type, "ready")
        const health = yield* ask(opened, { target: "/service/health", headers: proved(opened) })
        assert.strictEqual(health.status, 200)
        assert.deepInclude(yield* ask(opened, { headers: proved(opened) }), { status: 200, body: "the application" })
      }),
    60_000
  )
})
