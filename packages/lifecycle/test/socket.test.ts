import { assert, describe, it } from "@effect/vitest"
import { isSocketName, paths as pathsOf, socketOf } from "@holdfast/lock/ServicePaths"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as Credential from "../src/Credential.ts"
import { placeSocket, sweepSockets, whyNoSocket } from "../src/internal/socketFile.ts"
import * as LifecycleShell from "../src/LifecycleShell.ts"
import { hello, is, moduleOf, own, registered } from "./owner.ts"
import { instanceID, secretIn, temporary, until } from "./support.ts"

/** A shell on a socket, closed with the scope. */
const opened = Effect.gen(function* () {
  const directory = yield* temporary
  const secret = secretIn(directory)
  const token = Credential.random()
  const socketPath = `${directory}/service.01234567.sock`
  const shell = yield* Effect.acquireRelease(
    Effect.promise(() => LifecycleShell.open({ version: "1", instanceID, secret, token, socketPath, drainMs: 1 })),
    (shell) => Effect.promise(() => shell.close())
  )
  const address = Credential.endpointOf(shell.url, directory)!
  const registration = { schema: 1, instanceID, version: "1", url: shell.url, pid: process.pid } as const
  const ask = (more: Partial<Credential.ExchangeOptions>) =>
    Effect.promise(() => Credential.exchange({ address, method: "GET", path: "/", timeoutMs: 2000, ...more }))
  return { address, ask, directory, registration, secret, shell, socketPath, token }
})

const statusOf = (answer: Credential.Exchange) => (answer._tag === "Answer" ? answer.status : answer._tag)

describe("where a socket can be", () => {
  const at = (bytes: number) => `/${"s".repeat(bytes - 1)}`

  it.each([
    ["linux", 107],
    ["darwin", 103]
  ] as const)("on %s a path of %i bytes is the longest", (platform, bytes) => {
    assert.isUndefined(whyNoSocket(at(bytes), 0o40700, platform))
    const refused = whyNoSocket(at(bytes + 1), 0o40700, platform)
    assert.include(refused?.message, `is too long: ${bytes + 1} bytes, and ${bytes} are allowed.`)
    assert.strictEqual(refused?.action, "Name a directory with a shorter path, or listen on a port.")
  })

  it("bytes are counted, and not characters", () => {
    assert.isUndefined(whyNoSocket(`/${"s".repeat(106)}`, 0o700, "linux"))
    assert.isDefined(whyNoSocket(`/${"ä".repeat(54)}`, 0o700, "linux"))
  })

  it.each([0o755, 0o701, 0o710, 0o750])("a directory that others may enter (%o) is refused", (mode) => {
    const refused = whyNoSocket("/s/service.01234567.sock", 0o40000 | mode, "linux")
    assert.strictEqual(refused?.action, "Run: chmod 700 '/s'")
  })

  it("on Windows it is refused with one sentence and a thing to do", () => {
    const refused = whyNoSocket("C:\\s\\service.01234567.sock", 0o40700, "win32")
    assert.strictEqual(refused?.message, "A service cannot listen on a Unix socket on Windows.")
    assert.strictEqual(refused?.action, "Leave listen out, or give it a port.")
  })

  it.live("its place is the directory's real path, and its name carries the instance", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      fs.symlinkSync(directory, `${directory}/link`)
      const paths = pathsOf({ app: "hello", profile: "work", directory: `${directory}/link` })
      const place = placeSocket(paths, "01234567-89ab-cdef-0123-456789abcdef")
      assert.strictEqual(place, `${directory}/service-stable-work.01234567.sock`)
    })
  )

  it("the names of two services of one directory do not meet", () => {
    const [plain, work] = [
      pathsOf({ app: "a", directory: "/s" }),
      pathsOf({ app: "a", profile: "work", directory: "/s" })
    ]
    const nameOf = (paths: typeof plain) => socketOf(paths, "01234567-x").slice("/s/".length)
    assert.deepStrictEqual(
      [plain, work].map((paths) => [plain, work].map((other) => isSocketName(paths, nameOf(other)))),
      [
        [true, false],
        [false, true]
      ]
    )
  })
})

describe("a shell on a socket", () => {
  it.live("only its user may connect, and both sides prove themselves there", () =>
    Effect.gen(function* () {
      const { directory, registration, secret, shell, socketPath, token } = yield* opened
      assert.strictEqual(shell.url, `unix:${socketPath}`)
      assert.strictEqual(fs.statSync(socketPath).mode & 0o777, 0o600)
      const found = yield* Effect.promise(() => Credential.attach(registration, secret, { directory }))
      if (found._tag !== "Attached") return assert.fail(found.why)
      assert.strictEqual(found.session.token, token)
      const again = yield* Effect.promise(() => Credential.health(found.session))
      assert.strictEqual(again._tag, "Attached")
    })
  )

  it.live("a browser's Origin is refused, and so is every Host but localhost", () =>
    Effect.gen(function* () {
      const { ask, token } = yield* opened
      const health = (headers: Record<string, string>) =>
        Effect.map(ask({ path: "/service/health", headers: { [Credential.tokenHeader]: token, ...headers } }), statusOf)
      assert.strictEqual(yield* health({}), 200)
      assert.strictEqual(yield* health({ host: "localhost" }), 200)
      for (const host of ["127.0.0.1", "localhost:80", "evil.example", "localhost.evil.example"]) {
        assert.strictEqual(yield* health({ host }), 403, host)
      }
      assert.strictEqual(yield* health({ origin: "http://localhost" }), 403)
      assert.strictEqual(yield* health({ [Credential.tokenHeader]: Credential.random() }), 401)
    })
  )

  it.live("a proof that is reflected, replayed, or for another address is refused", () =>
    Effect.gen(function* () {
      const { ask, secret, shell } = yield* opened
      const session = (body: unknown) => ask({ method: "POST", path: "/service/session", body })
      const challenge = Effect.gen(function* () {
        const clientNonce = Credential.random()
        const first = yield* session({ clientNonce, instanceID })
        const { proof, serverNonce } = (first as { body: { proof: string; serverNonce: string } }).body
        return { clientNonce, serverNonce, proof }
      })
      const proofFor = ({ clientNonce, serverNonce }: { clientNonce: string; serverNonce: string }, endpoint: string) =>
        Credential.prove(secret, "client", { instanceID, endpoint, clientNonce, serverNonce })

      assert.strictEqual(statusOf(yield* session(yield* challenge)), 401, "reflected")
      const elsewhere = yield* challenge
      const proofs = [`${shell.url}.sock`, shell.url.slice(5), "localhost", "127.0.0.1:80"]
      for (const endpoint of proofs) {
        const one = yield* challenge
        assert.strictEqual(statusOf(yield* session({ ...one, proof: proofFor(one, endpoint) })), 401, endpoint)
      }
      const good = { ...elsewhere, proof: proofFor(elsewhere, shell.url) }
      assert.strictEqual(statusOf(yield* session(good)), 200)
      assert.strictEqual(statusOf(yield* session(good)), 401, "replayed")
    })
  )

  it.live("is not attached to through another socket of the directory that passes everything on", () =>
    Effect.gen(function* () {
      const { directory, registration, secret, socketPath, token } = yield* opened
      let passed = ""
      const relay = net.createServer((client) => {
        const upstream = net.connect(socketPath).on("error", () => client.destroy())
        upstream.on("data", (chunk) => ((passed += chunk.toString("latin1")), client.write(chunk)))
        client.on("error", () => upstream.destroy()).on("close", () => upstream.destroy())
        client.on("data", (chunk) => upstream.write(chunk))
      })
      const other = `${directory}/service.89abcdef.sock`
      yield* Effect.acquireRelease(
        Effect.callback<void>((resume) => void relay.listen(other, () => resume(Effect.void))),
        () => Effect.callback<void>((resume) => void relay.close(() => resume(Effect.void)))
      )
      const url = `unix:${other}`
      const found = yield* Effect.promise(() => Credential.attach({ ...registration, url }, secret, { directory }))
      assert.strictEqual(found._tag, "Unreachable")
      assert.include(passed, "serverNonce", "the relay did reach the service")
      assert.notInclude(passed, token)
    })
  )

  it.live.skipIf(process.platform !== "linux")("who is frozen with a full queue is silent, not gone (Linux)", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const socketPath = `${directory}/service.01234567.sock`
      const script = `require("net").createServer().listen({ path: process.argv[1], backlog: 1 }, () => process.kill(process.pid, "SIGSTOP"))`
      const child = yield* Effect.acquireRelease(
        Effect.sync(() => spawn(process.execPath, ["-e", script, socketPath])),
        (child) =>
          Effect.callback<void>((resume) => {
            child.on("exit", () => resume(Effect.void))
            child.kill("SIGKILL")
          })
      )
      const isFrozen = () => /^State:\s+T/m.test(fs.readFileSync(`/proc/${child.pid}/status`, "utf8"))
      yield* until("it is frozen", () => fs.existsSync(socketPath) && isFrozen())
      const address = { socketPath, endpoint: `unix:${socketPath}` }
      const codes = yield* Effect.promise(() =>
        Promise.all(
          Array.from({ length: 4 }, async () => {
            const socket = net.connect(socketPath)
            return new Promise<string>((resolve) => {
              socket.on("connect", () => resolve("connected"))
              socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? ""))
            })
          })
        )
      )
      assert.include(codes, "EAGAIN")
      const answer = yield* Effect.promise(() =>
        Credential.exchange({ address, method: "GET", path: "/", timeoutMs: 10_000 })
      )
      assert.deepStrictEqual(answer, { _tag: "Silent" })
    })
  )

  it.live("closing removes its file; one that was removed before is made again", () =>
    Effect.gen(function* () {
      const { ask, shell, socketPath } = yield* opened
      assert.isFalse(shell.reassert())
      fs.rmSync(socketPath)
      assert.deepStrictEqual(yield* ask({}), { _tag: "Refused" })
      assert.isTrue(shell.reassert())
      yield* until(
        "it listens again",
        () => fs.existsSync(socketPath) && (fs.statSync(socketPath).mode & 0o777) === 0o600
      )
      assert.strictEqual(statusOf(yield* ask({})), 503)
      yield* Effect.promise(() => shell.close())
      assert.isFalse(fs.existsSync(socketPath))
    })
  )
})

describe("an owner with a socket", () => {
  it.live("registers it, puts back a file that was removed, and takes it away at its end", () =>
    Effect.gen(function* () {
      const owner = yield* own(moduleOf(hello), { listen: { socket: true } })
      yield* is(owner, "ready")
      const { instanceID, url } = registered(owner)!
      const file = url.slice("unix:".length)
      assert.strictEqual(url, `unix:${owner.paths.directory}/service.${instanceID.slice(0, 8)}.sock`)
      fs.rmSync(file)
      yield* until("the socket is back", () => fs.existsSync(file), 8000)
      yield* owner.close
      assert.isFalse(fs.existsSync(file))
    })
  )

  it.live("what dead instances left goes; what is alive, another service's, or no socket stays", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const paths = pathsOf({ app: "hello", directory })
      const file = (name: string) => `${directory}/${name}`
      /** Leaves a socket file as a killed process does. */
      const leave = (name: string) =>
        Effect.callback<void>((resume) => {
          const script = `require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, 9))`
          spawn(process.execPath, ["-e", script, file(name)]).on("exit", () => resume(Effect.void))
        })
      for (const name of ["service.00000001.sock", "service-stable-work.00000002.sock", "service.mine.sock"])
        yield* leave(name)
      const living = net.createServer()
      yield* Effect.acquireRelease(
        Effect.callback<void>((resume) => void living.listen(file("service.00000003.sock"), () => resume(Effect.void))),
        () => Effect.callback<void>((resume) => void living.close(() => resume(Effect.void)))
      )
      fs.writeFileSync(file("service.00000004.sock"), "a file")
      fs.mkdirSync(file("service.00000005.sock"))
      const before = fs.readdirSync(directory)
      assert.strictEqual(before.length, 6)
      yield* Effect.promise(() => sweepSockets(paths))
      assert.deepStrictEqual(
        fs.readdirSync(directory),
        before.filter((name) => name !== "service.00000001.sock")
      )
    })
  )
})
