import { assert, describe, it } from "@effect/vitest"
import * as Credential from "@holdfast/lifecycle/Credential"
import * as LifecycleShell from "@holdfast/lifecycle/LifecycleShell"
import * as identity from "@holdfast/lock/identity"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import { paths as pathsOf } from "@holdfast/lock/ServicePaths"
import * as Effect from "effect/Effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import { Discovery } from "../src/Discovery.ts"
import { ask, attach, health } from "@holdfast/lifecycle/Credential"
import { exchange } from "@holdfast/lifecycle/Credential"
import {
  addressOf,
  carriesSecret,
  key,
  quickest,
  registration,
  respond,
  secretIn,
  session,
  spec,
  stranger,
  temporary
} from "./support.ts"

const hasIPv6 = Object.values(os.networkInterfaces()).some((list) => list?.some(({ address }) => address === "::1"))

/** Writes as fast as the peer reads, for ever. */
const pour = (socket: net.Socket, chunk: string) => {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk)) continue
  }
  socket.on("drain", more)
  more()
}
const drip = (socket: net.Socket, text: string) => {
  const begun = performance.now()
  let at = 0
  // each has its time, so that a machine that is busy takes no longer over all of it
  const timer = setInterval(() => {
    while (at * 20 < performance.now() - begun) socket.write(text[at++] ?? " ")
  }, 20)
  socket.on("close", () => clearInterval(timer))
}
const ok = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
const nonceIn = (text: string): string => /"clientNonce":"([^"]+)"/.exec(text)?.[1] ?? ""

/** What may listen on a port that was the service's; `ms` is how long it may hold up a client. */
const strangers: ReadonlyArray<[name: string, ms: number, behave: Parameters<typeof stranger>[0]]> = [
  ["answers 200 with garbage", 500, (socket) => socket.once("data", () => socket.write(respond("<html>")))],
  ["answers 200 with an empty object", 500, (socket) => socket.once("data", () => socket.write(respond("{}")))],
  ["answers 200 with null", 500, (socket) => socket.once("data", () => socket.write(respond("null")))],
  ["answers 200 with a list", 500, (socket) => socket.once("data", () => socket.write(respond("[1]")))],
  ["answers 204", 500, (socket) => socket.once("data", () => socket.write("HTTP/1.1 204 No Content\r\n\r\n"))],
  ["answers 404", 500, (socket) => socket.once("data", () => socket.write(respond("{}", "HTTP/1.1 404 Not Found")))],
  [
    "redirects elsewhere",
    500,
    (socket) =>
      socket.once("data", () =>
        socket.write(`HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 2\r\n\r\n{}`)
      )
  ],
  [
    "makes up a proof",
    500,
    (socket) =>
      socket.once("data", () =>
        socket.write(respond(JSON.stringify({ serverNonce: Credential.random(), proof: Credential.random() })))
      )
  ],
  [
    "sends our nonce back as proof",
    500,
    (socket, received) =>
      socket.once("data", () =>
        setImmediate(() =>
          socket.write(respond(JSON.stringify({ serverNonce: nonceIn(received()), proof: nonceIn(received()) })))
        )
      )
  ],
  [
    "asks for a client's proof as if it had proved itself",
    500,
    (socket) =>
      socket.once("data", () => socket.write(respond(JSON.stringify({ serverNonce: Credential.random(), proof: "" }))))
  ],
  [
    "hands out a token at once",
    500,
    (socket) => socket.once("data", () => socket.write(respond(JSON.stringify({ token: "t", health: {} }))))
  ],
  [
    "smuggles separators in its nonce",
    500,
    (socket) => socket.once("data", () => socket.write(respond(JSON.stringify({ serverNonce: "a|b", proof: "x" }))))
  ],
  ["closes at once", 500, (socket) => socket.destroy()],
  ["resets at once", 500, (socket) => socket.resetAndDestroy()],
  [
    "closes in the middle of its answer",
    500,
    (socket) => socket.once("data", () => socket.end(`${ok}content-length: 100\r\n\r\n{"serverNonce"`))
  ],
  ["speaks another protocol", 500, (socket) => socket.write("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")],
  [
    "floods with a body for ever",
    2000,
    (socket) => socket.once("data", () => (socket.write(`${ok}\r\n`), pour(socket, "x".repeat(65_536))))
  ],
  [
    "floods with chunks for ever",
    2000,
    (socket) =>
      socket.once(
        "data",
        () => (
          socket.write(`${ok}transfer-encoding: chunked\r\n\r\n`),
          pour(socket, `4000\r\n${"x".repeat(16_384)}\r\n`)
        )
      )
  ],
  [
    "floods with headers for ever",
    2000,
    (socket) => socket.once("data", () => (socket.write(ok), pour(socket, "x-more: 1\r\n".repeat(500))))
  ],
  ["floods with bytes that are no HTTP", 2000, (socket) => pour(socket, "\0".repeat(65_536))],
  [
    "says 100 Continue for ever",
    2500,
    (socket) => socket.once("data", () => pour(socket, "HTTP/1.1 100 Continue\r\n\r\n".repeat(100)))
  ],
  [
    "switches protocols",
    2500,
    (socket) =>
      socket.once("data", () =>
        socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n")
      )
  ],
  ["hangs", 2500, () => undefined],
  [
    "hangs after its headers",
    2500,
    (socket) => socket.once("data", () => socket.write(`${ok}content-length: 100\r\n\r\n`))
  ],
  ["never reads", 2500, (socket) => socket.pause()],
  ["drips its headers, a byte at a time", 2500, (socket) => drip(socket, `${ok}content-length: 2\r\n\r\n{}`)],
  [
    "drips its body, a byte at a time",
    2500,
    (socket) => (socket.write(`${ok}content-length: 100000\r\n\r\n`), drip(socket, "{"))
  ]
]

/** Those that, where the owner is known to live, are taken for one of another version. */
const inOtherWords = new Set([
  "answers 200 with garbage",
  "answers 200 with an empty object",
  "answers 200 with null",
  "answers 200 with a list",
  "answers 204",
  "answers 404",
  "redirects elsewhere",
  "hands out a token at once",
  "smuggles separators in its nonce",
  "speaks another protocol",
  "floods with headers for ever",
  "floods with bytes that are no HTTP",
  "drips its headers, a byte at a time"
])

describe("a stranger on the service's port holds nobody up and learns nothing", () => {
  it.live.each(strangers)(
    "that %s",
    ([name, ms, behave]) =>
      Effect.gen(function* () {
        const secret = secretIn(yield* temporary)
        const memory = process.memoryUsage().rss
        const look = Effect.gen(function* () {
          const other = yield* stranger(behave)
          const before = performance.now()
          const found = yield* Effect.promise(() => attach({ ...registration, url: other.url }, secret))
          const took = performance.now() - before
          assert.strictEqual(found._tag, "Unreachable")
          if (found._tag === "Unreachable") {
            assert.match(found.why, /^[^\n]{1,100}$/)
            assert.strictEqual(found.silent, took >= 1900, "silent is who did not answer in time")
            assert.strictEqual(
              found.foreign !== undefined,
              inOtherWords.has(name),
              "who said something else, to its end"
            )
            assert.isUndefined(found.foreign?.session)
          }
          assert.strictEqual(other.connections() <= 1, true, "one look, no repetition")
          assert.isFalse(carriesSecret(other.received()))
          assert.notInclude(other.received().toLowerCase(), Credential.tokenHeader)
          assert.notInclude(other.received(), '"proof"', "we prove nothing to who proved nothing")
        })
        assert.isBelow(yield* quickest(ms, Effect.scoped(look)), ms, "how long it held us up")
        assert.isBelow(process.memoryUsage().rss - memory, 300 * 2 ** 20)
      }),
    { concurrent: true }
  )

  it("the search for the secret finds it", () => {
    assert.isTrue(carriesSecret(`{"secret":"${key.toString("base64url")}"}`))
    assert.isTrue(carriesSecret(`x${key.toString("hex")}`))
  })

  it.live("an address that is not loopback is never dialled", () =>
    Effect.gen(function* () {
      const secret = secretIn(yield* temporary)
      const other = yield* stranger((socket) => socket.destroy())
      for (const url of [
        `http://localhost:${other.port}`,
        `http://0.0.0.0:${other.port}`,
        `http://127.0.0.1:${other.port}@evil.example`,
        `https://127.0.0.1:${other.port}`,
        "http://evil.example",
        "garbage",
        "unix:/s"
      ]) {
        assert.strictEqual(
          (yield* Effect.promise(() => attach({ ...registration, url }, secret)))._tag,
          "Unreachable",
          url
        )
      }
      assert.strictEqual(other.connections(), 0)
    })
  )

  it.live.skipIf(!hasIPv6)("whoever listens on [::1] is never dialled, nor by the name of localhost (needs IPv6)", () =>
    Effect.gen(function* () {
      const secret = secretIn(yield* temporary)
      const other = yield* stranger((socket) => socket.destroy(), { host: "::1", port: 0 })
      for (const host of ["[::1]", "localhost", "[::ffff:127.0.0.1]", "[::]"]) {
        const url = `http://${host}:${other.port}`
        assert.deepStrictEqual(yield* Effect.promise(() => attach({ ...registration, url }, secret)), {
          _tag: "Unreachable",
          why: `${url} is not a loopback address`,
          silent: false
        })
      }
      assert.strictEqual(other.connections(), 0)
    })
  )

  it.live("a socket outside the state directory is never dialled, also not through a link in it", () =>
    Effect.gen(function* () {
      const [directory, elsewhere] = [yield* temporary, yield* temporary]
      const secret = secretIn(directory)
      const other = yield* stranger((socket) => socket.destroy(), { path: `${elsewhere}/service.01234567.sock` })
      fs.symlinkSync(elsewhere, `${directory}/link`)
      for (const [url, from] of [
        [other.url, directory],
        [`unix:${directory}/link/service.01234567.sock`, directory],
        [`unix:${directory}/../${elsewhere.split("/").at(-1)}/service.01234567.sock`, directory],
        [other.url, undefined],
        [other.url, `${directory}/absent`]
      ] as const) {
        const options = from === undefined ? {} : { directory: from }
        assert.deepStrictEqual(yield* Effect.promise(() => attach({ ...registration, url }, secret, options)), {
          _tag: "Unreachable",
          why: "that is no socket in its state directory",
          silent: false
        })
      }
      assert.strictEqual(other.connections(), 0)
    })
  )

  it.live("a socket that is gone, or on which nobody listens, is told at once; a stranger there learns nothing", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const secret = secretIn(directory)
      const file = `${directory}/service.01234567.sock`
      const attempt = Effect.promise(() => attach({ ...registration, url: `unix:${file}` }, secret, { directory }))
      const nobody = { _tag: "Unreachable", why: "nobody listens there", silent: false } as const
      assert.deepInclude(yield* attempt, nobody)
      fs.writeFileSync(file, "")
      assert.deepInclude(yield* attempt, nobody)
      fs.rmSync(file)
      const other = yield* stranger((socket) => socket.once("data", () => socket.write(respond("{}"))), { path: file })
      assert.deepInclude(yield* attempt, { _tag: "Unreachable", why: "another program listens there" })
      assert.isFalse(carriesSecret(other.received()))
      assert.notInclude(other.received().toLowerCase(), Credential.tokenHeader)
    })
  )

  it.live("nobody there is told at once", () =>
    Effect.gen(function* () {
      const secret = secretIn(yield* temporary)
      const { url } = yield* Effect.scoped(stranger(() => undefined))
      const look = Effect.gen(function* () {
        assert.deepInclude(yield* Effect.promise(() => attach({ ...registration, url }, secret)), {
          _tag: "Unreachable",
          why: "nobody listens there",
          silent: false
        })
      })
      assert.isBelow(yield* quickest(500, look), 500)
    })
  )
})

/** The real shell, with the secret in a directory. */
const service = Effect.gen(function* () {
  const secret = secretIn(yield* temporary)
  const token = Credential.random()
  const shell = yield* Effect.acquireRelease(
    Effect.promise(() =>
      LifecycleShell.open({ version: "1.0.0", instanceID: "one", secret, token, port: 0, drainMs: 1000 })
    ),
    (shell) => Effect.promise(() => shell.close())
  )
  return {
    shell,
    secret,
    token,
    port: Number(shell.url.split(":")[2]),
    registration: { ...registration, url: shell.url }
  }
})

describe("the owner itself", () => {
  it.live("is attached to, and its token is of use from then on", () =>
    Effect.gen(function* () {
      const { registration, secret, shell, token } = yield* service
      const found = yield* Effect.promise(() => attach(registration, secret))
      if (found._tag !== "Attached") return assert.fail(found.why)
      assert.strictEqual(found.session.token, token)
      assert.deepStrictEqual(found.health.status, { type: "starting" })
      shell.dispatch({ type: "Booted" })
      const now = yield* Effect.promise(() => health(found.session))
      assert.deepStrictEqual(now._tag === "Attached" ? now.health.status : now, { type: "ready" })
    })
  )

  it.live("with another secret, or as another instance, is not", () =>
    Effect.gen(function* () {
      const { registration, secret } = yield* service
      const directory = yield* temporary
      const established = Credential.establish(`${directory}/other`)
      if (established._tag !== "Secret") return assert.fail(established._tag)
      assert.strictEqual((yield* Effect.promise(() => attach(registration, established.secret)))._tag, "Unreachable")
      assert.strictEqual(
        (yield* Effect.promise(() => attach({ ...registration, instanceID: "two" }, secret)))._tag,
        "Unreachable"
      )
    })
  )

  it.live("is not attached to through a relay, which learns no token", () =>
    Effect.gen(function* () {
      const { port, registration, secret, token } = yield* service
      let passed = ""
      const relay: { port?: number } = {}
      const other = yield* stranger((client) => {
        const upstream = net.connect(port, "127.0.0.1")
        upstream.on("error", () => client.destroy())
        upstream.on("data", (chunk) => ((passed += chunk.toString("latin1")), client.write(chunk)))
        upstream.on("close", () => client.destroy())
        client.on("data", (chunk) =>
          upstream.write(chunk.toString("latin1").replaceAll(`127.0.0.1:${relay.port}`, `127.0.0.1:${port}`), "latin1")
        )
        client.on("close", () => upstream.destroy())
      })
      relay.port = other.port
      const found = yield* Effect.promise(() => attach({ ...registration, url: other.url }, secret))
      assert.strictEqual(found._tag, "Unreachable")
      assert.include(passed, "serverNonce", "the relay did reach the service")
      assert.notInclude(passed, token)
      assert.isFalse(carriesSecret(other.received() + passed))
    })
  )
})

describe("one exchange", () => {
  it.live("never rejects: what cannot be sent is an outcome, too", () =>
    Effect.gen(function* () {
      const other = yield* stranger((socket) => socket.destroy())
      const settled = (promise: () => Promise<unknown>) =>
        Effect.promise(async () => {
          try {
            return (await promise()) === undefined ? "nothing" : "outcome"
          } catch {
            return "rejected"
          }
        })
      const here = { ...session, address: addressOf(other.port) }
      assert.strictEqual(
        yield* settled(() => ask({ ...here, token: "a\r\nb" }, { method: "GET", path: "/" })),
        "outcome",
        "a token that is no header"
      )
      assert.strictEqual(
        yield* settled(() => ask(here, { method: "GET", path: "/a b" })),
        "outcome",
        "a path that is none"
      )
      assert.strictEqual(
        yield* settled(() => ask({ ...here, address: addressOf(99_999) }, { method: "GET", path: "/" })),
        "outcome",
        "a port that is none"
      )
    })
  )

  it.live("has its time for all of it, from connecting to the last byte", () =>
    Effect.gen(function* () {
      const other = yield* stranger(
        (socket) => (socket.write(`${ok}content-length: 100000\r\n\r\n`), drip(socket, "{"))
      )
      const look = Effect.gen(function* () {
        const found = yield* Effect.promise(() =>
          exchange({ address: addressOf(other.port), method: "GET", path: "/", timeoutMs: 200 })
        )
        assert.deepStrictEqual(found, { _tag: "Silent" })
      })
      assert.isBelow(yield* quickest(600, look), 600)
    })
  )

  it.live("reads an answer of 64 KiB and no larger one, and leaves no connection open", () =>
    Effect.gen(function* () {
      for (const [size, tag] of [
        [65_536, "Answer"],
        [65_537, "Lost"]
      ] as const) {
        let closed = false
        const other = yield* stranger((socket) => {
          socket.on("close", () => (closed = true))
          socket.once("data", () => socket.write(respond(JSON.stringify("x".repeat(size - 2)))))
        })
        const found = yield* Effect.promise(() =>
          exchange({ address: addressOf(other.port), method: "GET", path: "/", timeoutMs: 2000 })
        )
        assert.strictEqual(found._tag, tag, `${size} bytes`)
        yield* Effect.promise(async () => {
          for (const end = performance.now() + 2000; !closed && performance.now() < end;)
            await new Promise((resolve) => setImmediate(resolve))
        })
        assert.isTrue(closed)
      }
    })
  )
})

describe("a look at the service", () => {
  /** Files as an owner left them, whose registered address is a stranger's by now. */
  const left = (pid: number, url: string) =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const paths = pathsOf({ ...spec, directory })
      Credential.establish(paths.secret)
      fs.writeFileSync(paths.lock, "")
      fs.writeFileSync(paths.registration, JSON.stringify({ ...registration, pid, url }))
      return paths
    })
  const look = (paths: ReturnType<typeof pathsOf>) =>
    Effect.flatMap(Discovery, (discovery) => discovery.look).pipe(Effect.provide(Discovery.layer(paths)))

  it.live("never dials an owner whose process is gone, whoever listens at its address now", () =>
    Effect.gen(function* () {
      const other = yield* stranger((socket) => socket.write(respond("{}")))
      const child = childProcess.spawn("sleep", ["60"], { stdio: "ignore" })
      const dead = identity.ofPid(child.pid!)!
      const gone = new Promise((resolve) => child.once("exit", resolve))
      child.kill("SIGKILL")
      yield* Effect.promise(() => gone)
      const paths = yield* left(dead.pid, other.url)
      fs.writeFileSync(
        paths.owner,
        JSON.stringify({
          schema: 1,
          ...dead,
          instanceID: "one",
          lockInode: OwnerNote.inodeOf(paths.lock),
          startedAt: 0
        })
      )
      yield* Effect.gen(function* () {
        const discovery = yield* Discovery
        assert.deepInclude(yield* discovery.look, { _tag: "Unreachable", owner: "dead" })
        const known = {
          ...session,
          registration: { ...registration, pid: dead.pid, url: other.url },
          address: addressOf(other.port)
        }
        yield* discovery.adopt(known) // also with a session from before
        assert.deepInclude(yield* discovery.look, { _tag: "Unreachable", owner: "dead" })
      }).pipe(Effect.provide(Discovery.layer(paths)))
      assert.strictEqual(other.connections(), 0)
    })
  )

  it.live("says no secret and no token to a stranger at the address of an owner it cannot identify", () =>
    Effect.gen(function* () {
      const other = yield* stranger((socket) =>
        socket.once("data", () =>
          socket.write(respond(JSON.stringify({ serverNonce: Credential.random(), proof: Credential.random() })))
        )
      )
      const paths = yield* left(process.pid, other.url)
      const found = yield* look(paths)
      assert.deepInclude(found, { _tag: "Unreachable", owner: "unknown" })
      assert.strictEqual(other.connections(), 1)
      assert.notInclude(other.received(), fs.readFileSync(paths.secret, "utf8").trim())
      assert.notInclude(other.received().toLowerCase(), Credential.tokenHeader)
    })
  )

  it.live("proves again after a connection error, before it says its token", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const secret = secretIn(directory)
      const paths = pathsOf({ ...spec, directory })
      fs.renameSync(`${directory}/secret`, paths.secret)
      const token = Credential.random()
      const open = (port: number) =>
        LifecycleShell.open({ version: "1.0.0", instanceID: "one", secret, token, port, drainMs: 1000 })
      const shell = yield* Effect.promise(() => open(0))
      const port = Number(shell.url.split(":")[2])
      fs.writeFileSync(paths.registration, JSON.stringify({ ...registration, url: shell.url }))
      yield* Effect.gen(function* () {
        const discovery = yield* Discovery
        assert.strictEqual((yield* discovery.look)._tag, "Reachable")
        yield* Effect.promise(() => shell.close())
        assert.strictEqual((yield* discovery.look)._tag, "Unreachable")
        const other = yield* stranger((socket) => socket.once("data", () => socket.write(respond("{}"))), port)
        assert.strictEqual((yield* discovery.look)._tag, "Unreachable")
        assert.strictEqual(other.connections(), 1)
        assert.notInclude(other.received(), token)
      }).pipe(Effect.scoped, Effect.provide(Discovery.layer(paths)))
    })
  )

  it.live("creates and changes nothing, also where there is nothing", () =>
    Effect.gen(function* () {
      const paths = pathsOf({ ...spec, directory: `${yield* temporary}/absent` })
      assert.deepStrictEqual(yield* look(paths), { _tag: "Missing", holder: undefined })
      assert.isFalse(fs.existsSync(paths.directory))
    })
  )
})
