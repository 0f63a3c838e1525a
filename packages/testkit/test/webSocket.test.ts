import * as NodeWS from "@effect/platform-node/NodeWS"
import { assert, describe, it } from "@effect/vitest"
import * as Credential from "@holdfast/lifecycle/Credential"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as fs from "node:fs"
import { isReady, withKit } from "./withKit.ts"

const tokenOf = (kit: Testkit["Service"]) =>
  Effect.promise(async () => {
    const registration = JSON.parse(fs.readFileSync(kit.paths.registration, "utf8"))
    const secret = Credential.load(kit.paths.secret)
    assert.strictEqual(secret._tag, "Secret")
    const known = (secret as { readonly secret: Credential.Secret }).secret
    const attached = await Credential.attach(registration, known, { timeoutMs: 10_000 })
    return {
      url: registration.url.replace("http:", "ws:"),
      token: attached._tag === "Attached" ? attached.session.token : ""
    }
  })

const connect = (url: string, headers: Readonly<Record<string, string>>) => {
  const socket = new NodeWS.WebSocket(url, { headers })
  const opened = new Promise<"open" | number>((resolve, reject) => {
    socket.once("open", () => resolve("open"))
    socket.once("unexpected-response", (_, response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    socket.once("error", reject)
  })
  return { socket, opened: Effect.promise(() => opened) }
}

describe.concurrent("a WebSocket of the application", () => {
  it.live("is opened with the token, carries messages both ways, and ends with a stop in time", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const [owner] = yield* kit.swarm(1)
        yield* isReady(kit)
        const { token, url } = yield* tokenOf(kit)
        const { opened, socket } = connect(`${url}/echo`, { [Credential.tokenHeader]: token })
        assert.strictEqual(yield* opened, "open")
        const said = new Promise((resolve) => socket.once("message", (data) => resolve(String(data))))
        const closed = new Promise((resolve) => socket.once("close", resolve))
        socket.send("hello")
        assert.strictEqual(yield* Effect.promise(() => said), "hello")
        assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
        yield* Effect.promise(() => closed)
        assert.deepStrictEqual(yield* owner!.exited, { code: 0 })
      })
    )
  )

  it.live(
    "is refused without the token, to a browser, to another host, under /service, and while the service starts",
    () =>
      withKit({ bootMs: 1500 }, (kit) =>
        Effect.gen(function* () {
          yield* kit.swarm(1)
          yield* kit.waitFor("it is starting", (state) => state.status.type === "starting")
          const { token, url } = yield* tokenOf(kit)
          const proved = { [Credential.tokenHeader]: token }
          assert.strictEqual(yield* connect(`${url}/echo`, proved).opened, 503)
          yield* isReady(kit)
          assert.strictEqual(yield* connect(`${url}/echo`, {}).opened, 401)
          assert.strictEqual(yield* connect(`${url}/echo`, { ...proved, origin: "http://127.0.0.1" }).opened, 403)
          assert.strictEqual(yield* connect(`${url}/echo`, { ...proved, host: "evil.example" }).opened, 403)
          assert.strictEqual(yield* connect(`${url}/service/health`, proved).opened, 404)
          const late = connect(`${url}/echo`, proved)
          assert.strictEqual(yield* late.opened, "open")
          late.socket.terminate()
        })
      )
  )
})
