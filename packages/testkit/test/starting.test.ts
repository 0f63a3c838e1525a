import { assert, describe, it } from "@effect/vitest"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { stranger } from "./faulting.ts"
import { sessionOf } from "./session.ts"
import { boots, isReady, withKit } from "./withKit.ts"

/** A client of its own, as another process would have. */
const as = <A, E, R>(kit: Testkit["Service"], use: (client: ServiceClient["Service"]) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(ServiceClient, use).pipe(Effect.provide(Layer.fresh(ServiceClient.layer(kit.spec))))

describe.concurrent("a start", () => {
  it.live(
    "that takes longer than its callers wait is neither killed nor repeated: they are told that it starts, and who waits longer is served by it",
    () =>
      withKit({ bootMs: 5000, progress: "Reading everything…" }, (kit) =>
        Effect.gen(function* () {
          const brief = as(kit, (client) => Effect.flip(client.ensure({ deadline: "1 second" })))
          for (const errors of [[yield* brief], yield* Effect.all([brief, brief], { concurrency: 2 })]) {
            for (const error of errors) {
              assert.strictEqual(error._tag, "ServiceNotReady")
              assert.match(error.message, /starting|Reading everything/i)
              assert.notMatch(`${error.message} ${error.action}`, /restart/i)
            }
          }
          const ready = yield* as(kit, (client) => client.ensure({ deadline: "30 seconds" }))
          assert.deepStrictEqual(boots(kit), [ready.pid])
        })
      ),
    60_000
  )

  it.live("is over only when requests are answered: the call after an ensure from cold is answered, every time", () =>
    withKit({ bootMs: 200 }, (kit) =>
      Effect.gen(function* () {
        for (let round = 0; round < 4; round++) {
          const { pid, url } = yield* kit.client.ensure()
          const { token } = yield* sessionOf(kit)
          // one request with nothing behind it that would try again
          const response = yield* Effect.promise(() =>
            fetch(`${url}/hello`, { headers: { "x-holdfast-token": token } })
          )
          const text = yield* Effect.promise(() => response.text())
          assert.deepStrictEqual([response.status, text], [200, `hello from ${pid}`])
          assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
        }
      })
    )
  )

  it.live("on a configured port that another program has on every address is one clear error, with the port", () =>
    Effect.gen(function* () {
      const { port } = yield* stranger("answers", { host: "0.0.0.0" })
      yield* withKit({ port }, (kit) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(kit.client.launch())
          assert.include(error.message, `Port ${port} is in use`)
          assert.isNotEmpty(error.action)
          assert.isEmpty(boots(kit))
          assert.isTrue((yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}`))).ok, "it still listens")
        })
      )
    }).pipe(Effect.scoped)
  )
})

describe.concurrent("a stop", () => {
  it.live("right after the registration was deleted finds the owner, and ends it", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const [owner] = yield* kit.swarm(1)
        yield* isReady(kit)
        fs.rmSync(kit.paths.registration)
        assert.strictEqual((yield* as(kit, (client) => client.stop()))._tag, "Stopped")
        assert.strictEqual((yield* owner!.exited).code, 0)
      })
    )
  )

  for (const [how, end] of [
    ["is asked for", undefined],
    ["comes by SIGTERM", ["SIGTERM"]],
    ["comes by SIGTERM, and once more while it stops", ["SIGTERM", "SIGTERM", "SIGINT"]]
  ] as const) {
    it.live(
      `that ${how} does not wait for who is connected: streams that nobody reads, idle ones, half a request`,
      () =>
        withKit({ closeMs: 200 }, (kit) =>
          Effect.gen(function* () {
            const [owner] = yield* kit.swarm(1)
            yield* isReady(kit)
            const { host, port, token } = yield* sessionOf(kit)
            const head = (line: string) => `${line} HTTP/1.1\r\nHost: ${host}:${port}\r\nx-holdfast-token: ${token}\r\n`
            const connected = [
              ["GET /service/events", "\r\n", "read"],
              ["GET /service/events", "\r\n", "paused"],
              ["GET /ticks", "\r\n", "paused"],
              ["GET /service/health", "\r\n", "read"],
              ["POST /service/session", "Content-Length: 100\r\n\r\n{", "read"],
              ["GET /hel", "", "read"]
            ].map(([line, rest, reading]) => {
              const socket = net.connect(port, host).on("error", () => undefined)
              const seen = { text: "", closed: false }
              socket.on("data", (data) => {
                seen.text += data.toString()
                if (reading === "paused") socket.pause()
              })
              socket.on("close", () => (seen.closed = true))
              socket.write(rest === "" ? line! : head(line!) + rest)
              return { socket, seen }
            })
            yield* kit.eventually(
              "who is answered is answered",
              () => connected.slice(0, 4).filter(({ seen }) => seen.text.includes("200 OK")).length,
              (count) => count === 4
            )
            if (end === undefined) assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
            else for (const signal of end) process.kill(owner!.pid, signal)
            assert.deepStrictEqual(yield* owner!.exited, { code: 0 })
            assert.include(connected[0]!.seen.text, '"stopping"')
            assert.isFalse(fs.existsSync(kit.paths.registration))
            assert.isTrue(fs.existsSync(path.join(kit.paths.directory, "closed")), "the application was closed")
            for (const { socket } of connected) socket.destroy()
          })
        )
    )
  }
})
