import { assert, describe, it } from "@effect/vitest"
import * as Credential from "@holdfast/lifecycle/Credential"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as http from "node:http"
import * as net from "node:net"
import { type Session, sessionOf } from "./session.ts"
import { boots, isReady, withKit } from "./withKit.ts"

const each = 1000

interface Answer {
  readonly status: number
  /** All of it: what must not contain a secret. */
  readonly text: string
}

interface Request {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: string | Buffer
}

type Ask = (request: Request) => Promise<Answer>

/** Over connections that are used again where the service allows it. */
const asking =
  ({ host, port }: Session, agent: http.Agent): Ask =>
  ({ body = "", headers = {}, method = "GET", path = "/hello" }) =>
    new Promise((resolve) => {
      const given = Object.entries({ "content-length": String(Buffer.byteLength(body)), ...headers })
      const sent = Object.fromEntries(given.filter((entry): entry is [string, string] => entry[1] !== undefined))
      const request = http.request({ host, port, agent, method, path, headers: sent, maxHeaderSize: 65_536 })
      request.on("error", (error: NodeJS.ErrnoException) => resolve({ status: 0, text: String(error.code) }))
      request.on("response", (response) => {
        let text = JSON.stringify(response.rawHeaders)
        response.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")))
        response.on("error", () => resolve({ status: response.statusCode!, text }))
        response.on("end", () => resolve({ status: response.statusCode!, text }))
      })
      request.end(body)
    })

interface Kind {
  readonly what: string
  /** What it may be answered with; 0 is a connection that was cut. */
  readonly refused: ReadonlyArray<number>
  readonly atOnce?: number
  readonly attack: (ask: Ask, session: Session, index: number) => Promise<Answer>
}

const post = (path: string, body: unknown): Request => ({ method: "POST", path, body: JSON.stringify(body) })
const challengeOf = async (ask: Ask, { registration }: Session) => {
  const clientNonce = Credential.random()
  const { text } = await ask(post("/service/session", { clientNonce, instanceID: registration.instanceID }))
  const { proof, serverNonce } = JSON.parse(text.slice(text.indexOf("{"))) as Record<string, string>
  return { clientNonce, serverNonce: serverNonce!, proof: proof! }
}
const provenBy = (token: string) => ({ [Credential.tokenHeader]: token })

/** The second round of a session, with a proof that holds. */
const proofOf = async (ask: Ask, session: Session): Promise<Request> => {
  const { clientNonce, serverNonce } = await challengeOf(ask, session)
  const endpoint = `${session.host}:${session.port}`
  const challenge = { instanceID: session.registration.instanceID, endpoint, clientNonce, serverNonce }
  const proof = Credential.prove(session.secret, "client", challenge)
  return post("/service/session", { clientNonce, serverNonce, proof })
}

/** Sends a body drop by drop, and goes before its end. */
const byDrops = ({ host, port, token }: Session, index: number): Promise<Answer> =>
  new Promise((resolve) => {
    const socket = net.connect({ port, host, noDelay: true })
    const target = index % 2 === 0 ? "session" : "stop"
    let text = ""
    socket.on("data", (chunk) => (text += chunk.toString("latin1")))
    socket.on("error", () => undefined)
    socket.on("close", () => resolve({ status: Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? 0), text }))
    const head =
      `POST /service/${target} HTTP/1.1\r\nHost: ${host}:${port}\r\n${Credential.tokenHeader}: ${token}\r\n` +
      "Content-Length: 500\r\n\r\n"
    const drop = (left: number) =>
      left === 0 ? socket.destroy() : socket.write(" ", () => setImmediate(drop, left - 1))
    socket.write(head, () => drop(10))
  })

const badJson = ["", "{", "[]", "null", '"x"', "1", "[".repeat(2000), '{"__proto__":{"x":1}}', "\u0000", "{'a':1}"]
const methods = ["PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "SEARCH"]
const tricks = [
  "/service/../service/stop",
  "//service/stop",
  "/service/%73top",
  "/service//health",
  "/service/health/../../hello",
  "/./service/health",
  "/hello/../service/health",
  "/service/__proto__",
  "/%2e%2e/%2e%2e/etc/passwd",
  "/service\\health",
  "/service/health;x=1",
  "http://evil.example/service/health",
  "/SERVICE/HEALTH",
  "/hello?x=../../service/health",
  "/%00",
  "*"
]

const kinds: ReadonlyArray<Kind> = [
  {
    what: "headers that are too large",
    refused: [431, 0],
    attack: (ask, { token }) => ask({ headers: { ...provenBy(token), "x-large": "a".repeat(20_000) } })
  },
  {
    what: "bodies that are too large",
    refused: [413, 0],
    attack: (ask, { registration, token }, index) => {
      const body = JSON.stringify({ instanceID: registration.instanceID, x: "x".repeat(100_000) })
      return ask({
        method: "POST",
        path: `/service/${index % 2 === 0 ? "session" : "stop"}`,
        body,
        headers: provenBy(token)
      })
    }
  },
  {
    what: "bodies that come by drops and never end",
    refused: [0],
    atOnce: 200,
    attack: (_, session, index) => byDrops(session, index)
  },
  {
    what: "bad JSON",
    refused: [400, 409],
    attack: (ask, { token }, index) =>
      ask({
        method: "POST",
        path: `/service/${index % 2 === 0 ? "session" : "stop"}`,
        body: badJson[index % badJson.length]!,
        headers: provenBy(token)
      })
  },
  {
    what: "wrong methods",
    refused: [405],
    attack: (ask, { token }, index) =>
      ask({
        method: methods[index % methods.length]!,
        path: `/service/${["session", "stop", "health", "events"][Math.floor(index / methods.length) % 4]}`,
        headers: provenBy(token)
      })
  },
  {
    what: "paths that pretend to be others",
    refused: [400, 401, 403, 404, 405],
    attack: (ask, _, index) => ask({ path: tricks[index % tricks.length]! })
  },
  {
    what: "wrong proofs",
    refused: [401],
    attack: async (ask, session) =>
      ask(post("/service/session", { ...(await challengeOf(ask, session)), proof: Credential.random() }))
  },
  {
    what: "missing proofs",
    refused: [400, 401, 409],
    attack: async (ask, session) => ask(post("/service/session", { ...(await challengeOf(ask, session)), proof: null }))
  },
  {
    what: "proofs that were used",
    refused: [401],
    attack: async (ask, session) => {
      const proven = await proofOf(ask, session)
      assert.strictEqual((await ask(proven)).status, 200, "the first time it is good")
      return ask(proven)
    }
  },
  {
    what: "the service's own proofs sent back",
    refused: [401],
    attack: async (ask, session) => ask(post("/service/session", await challengeOf(ask, session)))
  },
  {
    what: "tokens of another instance, or of nobody",
    refused: [401],
    attack: (ask, { token }, index) => {
      const wrong = [Credential.random(), token.slice(0, -1), `${token}A`, token.toLowerCase(), ""][index % 5]!
      return ask({ ...(index % 2 === 0 ? {} : { path: "/service/health" }), headers: provenBy(wrong) })
    }
  },
  {
    what: "stops of another instance",
    refused: [409],
    attack: (ask, { token }) =>
      ask({ ...post("/service/stop", { instanceID: Credential.random() }), headers: provenBy(token) })
  },
  {
    what: "another host's name",
    refused: [400, 403],
    attack: (ask, { port, token }, index) => {
      const names = ["evil.example", `evil.example:${port}`, "127.0.0.1", `0.0.0.0:${port}`, `127.0.0.1:${port}.evil`]
      return ask({ headers: { ...provenBy(token), host: names[index % names.length]! } })
    }
  },
  {
    what: "a web page's origin",
    refused: [403],
    attack: (ask, { port, token }, index) => {
      const origins = ["https://evil.example", "null", `http://127.0.0.1:${port}`, "file://"]
      const path = ["/hello", "/service/health", "/service/session", "/service/stop"][index % 4]!
      return ask({
        path,
        method: index % 2 === 0 ? "POST" : "OPTIONS",
        headers: { ...provenBy(token), origin: origins[index % 3]! }
      })
    }
  }
]

const attacked = (kind: Kind, ask: Ask, session: Session, times: number) =>
  Effect.forEach(
    Array.from({ length: times }, (_, index) => index),
    (index) => Effect.promise(() => kind.attack(ask, session, index)),
    { concurrency: kind.atOnce ?? 25 }
  )

describe(`${each} requests of each hostile kind`, () => {
  it.live(
    "get refusals and nothing out of the service, which serves on as the same process and holds no more memory than before",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const { pid } = yield* kit.client.ensure()
          const before = yield* isReady(kit)
          const session = yield* sessionOf(kit)
          const agent = yield* Effect.acquireRelease(
            Effect.sync(() => new http.Agent({ keepAlive: true, maxSockets: 25 })),
            (agent) => Effect.sync(() => agent.destroy())
          )
          const ask = asking(session, agent)
          const collected = Effect.promise(async () => {
            const headers = provenBy(session.token)
            let held = 0
            for (let round = 0; round < 5; round++) {
              assert.strictEqual((await ask({ path: "/service/health", headers })).status, 200)
              const { status, text } = await ask({ path: "/collect", method: "POST", headers })
              assert.strictEqual(status, 200)
              held = Number(/held (\d+) kB/.exec(text)![1])
            }
            return held
          })
          const open = () => fs.readdirSync(`/proc/${pid}/fd`).length
          for (const kind of kinds) yield* attacked(kind, ask, session, each)
          const warm = yield* collected
          const descriptors = open()

          const secrets = session.texts
          for (const kind of kinds) {
            const answers = yield* attacked(kind, ask, session, each)
            const statuses = [...new Set(answers.map(({ status }) => status))]
            assert.deepStrictEqual(
              statuses.filter((status) => !kind.refused.includes(status)),
              [],
              kind.what
            )
            for (const { text } of answers) {
              for (const secret of secrets) assert.isFalse(text.includes(secret), kind.what)
              assert.notMatch(text, /node:internal|\bat .+:\d+:\d+|access-control-/i, kind.what)
            }
          }

          yield* kit.eventually("no connection is left", open, (now) => now <= descriptors + 1)
          assert.isAtMost(yield* collected, warm * 1.1, `memory, which was ${warm} kB`)
          assert.deepStrictEqual(yield* isReady(kit), before)
          assert.deepStrictEqual(boots(kit), [pid])
          const log = fs.readFileSync(kit.paths.log, "utf8")
          for (const secret of secrets) assert.isFalse(log.includes(secret))
        })
      ),
    90_000
  )
})
