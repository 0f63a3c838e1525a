import { assert, describe, it } from "@effect/vitest"
import * as Credential from "@holdfast/lifecycle/Credential"
import { Effect, type Scope } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import { DatabaseSync } from "node:sqlite"
import { clientSays, may } from "./elsewhere.ts"
import { type Session, sessionOf } from "./session.ts"
import { boots, isReady, withKit } from "./withKit.ts"

const openOf = (pid: number): number => fs.readdirSync(`/proc/${pid}/fd`).length

/** Seconds of processor time that a process has had. */
const spentBy = (pid: number): number => {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
  return (Number(user) + Number(system)) / 100
}

const heartbeatOf = (lease: string): number => {
  const database = new DatabaseSync(lease, { readOnly: true, timeout: 2000 })
  try {
    const { holder } = database.prepare("SELECT holder FROM lease").get() as { readonly holder: string }
    return (JSON.parse(holder) as { readonly heartbeatAt: number }).heartbeatAt
  } finally {
    database.close()
  }
}

/** Connected, and says nothing; closed with the scope. */
const idle = (port: number): Effect.Effect<net.Socket, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<net.Socket>((resume) => {
      const socket = net.connect(port, "127.0.0.1", () => resume(Effect.succeed(socket)))
      socket.on("error", () => resume(Effect.succeed(socket)))
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

describe.concurrent("a service without a free descriptor", () => {
  it.live.skipIf(!may.limit)(
    "is not taken over and not followed, costs next to no processor time, and answers and renews again when there are some (needs prlimit)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const first = yield* kit.client.ensure()
          const { pid } = first
          childProcess.execFileSync("prlimit", ["--pid", String(pid), "--nofile=64:64"])
          yield* Effect.gen(function* () {
            const port = Number(new URL(first.url).port)
            yield* Effect.forEach(Array.from({ length: 80 }), () => idle(port), { concurrency: 10 })
            yield* kit.eventually(
              "it has no descriptor left",
              () => openOf(pid),
              (count) => count >= 64
            )
            const [spent, since] = [spentBy(pid), performance.now()]
            const said = yield* clientSays("ensure", kit.paths.directory, { deadlineMs: 4000 })
            if (said.error === undefined) assert.deepStrictEqual(said.value, first, said.output)
            else assert.strictEqual(said.error._tag, "ServiceNotReady", said.output)
            yield* clientSays("status", kit.paths.directory)
            const share = (spentBy(pid) - spent) / ((performance.now() - since) / 1000)
            assert.isBelow(share, 0.2, "share of one processor")
            assert.isAtLeast(openOf(pid), 64)
          }).pipe(Effect.scoped)
          assert.deepStrictEqual((yield* isReady(kit)).registration?.instanceID, first.instanceID)
          assert.deepStrictEqual(yield* kit.client.ensure(), first)
          const last = heartbeatOf(kit.paths.lease)
          yield* kit.eventually(
            "it renews",
            () => heartbeatOf(kit.paths.lease),
            (now) => now > last,
            {
              within: "15 seconds"
            }
          )
          assert.deepStrictEqual(boots(kit), [pid])
          assert.isBelow(fs.statSync(kit.paths.log).size, 10_000)
        })
      ),
    60_000
  )
})

describe.concurrent("a client that vanishes", () => {
  const watch = ({ host, port, token }: Session): Promise<net.Socket> =>
    new Promise((resolve, reject) => {
      const socket = net.connect(port, host)
      socket.on("error", reject)
      socket.once("data", () => {
        socket.off("error", reject).on("error", () => undefined)
        resolve(socket.resume())
      })
      socket.write(
        `GET /service/events HTTP/1.1\r\nHost: ${host}:${port}\r\n${Credential.tokenHeader}: ${token}\r\n\r\n`
      )
    })

  it.live(
    "leaves nothing open: after two hundred event streams that ended in every way there is, the service has what it had before",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const { pid } = yield* kit.client.ensure()
          const session = yield* sessionOf(kit)
          const cycle = (end: (socket: net.Socket) => unknown) =>
            Effect.promise(async () => void end(await watch(session)))
          const ways: ReadonlyArray<(socket: net.Socket) => unknown> = [
            (socket) => socket.end(),
            (socket) => socket.destroy(),
            (socket) => socket.resetAndDestroy(),
            (socket) => (socket.pause(), setImmediate(() => socket.destroy()))
          ]
          yield* Effect.forEach(ways, cycle) // what is opened once, and stays
          yield* kit.client.state
          // the test's own client may have a connection more or less
          const before = openOf(pid)
          let most = 0
          yield* Effect.forEach(
            Array.from({ length: 200 }, (_, index) => ways[index % ways.length]!),
            (end) => Effect.tap(cycle(end), () => Effect.sync(() => void (most = Math.max(most, openOf(pid))))),
            { concurrency: 20 }
          )
          assert.isAbove(most, before + 5, "they were open")
          yield* kit.eventually(
            "the service has what it had",
            () => openOf(pid),
            (count) => count <= before + 1
          )
          assert.strictEqual((yield* kit.client.state).status.type, "ready")
        })
      ),
    60_000
  )
})
