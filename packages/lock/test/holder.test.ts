import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import * as fileSystem from "../src/fileSystem.ts"
import * as identity from "../src/identity.ts"
import * as OwnerNote from "../src/OwnerNote.ts"
import { probeHello } from "../src/probeHello.ts"
import { recordedOn, temporary } from "./support.ts"

describe("who holds a lock, told without touching it", () => {
  it.live("is nobody, this machine's process, or another host's", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const [note, lock] = [path.join(directory, "service.owner.json"), path.join(directory, "service.lock")]
      assert.deepStrictEqual(OwnerNote.holder(note, lock), { _tag: "Nobody" })
      fs.writeFileSync(lock, "")
      const mine = OwnerNote.write(note, { instanceID: "a", lock })
      assert.deepStrictEqual(OwnerNote.holder(note, lock), { _tag: "Here", note: mine })
      fs.writeFileSync(note, JSON.stringify({ ...mine, pid: 4_000_000 }))
      assert.deepStrictEqual(OwnerNote.holder(note, lock), { _tag: "Nobody" })
      fs.writeFileSync(note, JSON.stringify(recordedOn("lab-7", mine)))
      assert.deepInclude(OwnerNote.holder(note, lock), { _tag: "Elsewhere", host: "lab-7" })
      fs.writeFileSync(note, JSON.stringify({ ...mine, host: "renamed meanwhile" }))
      assert.strictEqual(OwnerNote.holder(note, lock)._tag, "Here")
      fs.writeFileSync(note, JSON.stringify({ ...mine, startIdentity: mine.startIdentity.replace(/\/[^/]+\//, "/1/") }))
      assert.strictEqual(OwnerNote.holder(note, lock)._tag, "Unknown")
      assert.strictEqual(identity.own().pid, process.pid)
    })
  )
})

describe("a greeting probe", () => {
  const listening = (file: string, greet: boolean) =>
    Effect.acquireRelease(
      Effect.callback<net.Server>((resume) => {
        const sockets = new Set<net.Socket>()
        const server = net.createServer((socket) => {
          sockets.add(socket)
          socket.on("error", () => undefined)
          if (greet) socket.write("hello\n")
        })
        server.on("close", () => undefined)
        server.listen(file, () => resume(Effect.succeed(Object.assign(server, { sockets }))))
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          for (const socket of (server as net.Server & { sockets: Set<net.Socket> }).sockets) socket.destroy()
        })
    )

  it.live("Serving probe: a hello-writing server is serving", () =>
    Effect.gen(function* () {
      const file = path.join(yield* temporary, "s")
      yield* listening(file, true)
      assert.isTrue(yield* Effect.promise(() => probeHello(file)))
    })
  )
  it.live("Serving probe: a silent bound socket is not serving", () =>
    Effect.gen(function* () {
      const file = path.join(yield* temporary, "s")
      yield* listening(file, false)
      assert.isFalse(yield* Effect.promise(() => probeHello(file, 100)))
    })
  )
  it.live(
    "Serving probe: a missing socket path is not serving without connecting, nor one that nobody listens on",
    () =>
      Effect.gen(function* () {
        const file = path.join(yield* temporary, "s")
        assert.isFalse(yield* Effect.promise(() => probeHello(file, 60_000)))
        fs.writeFileSync(file, "")
        assert.isFalse(yield* Effect.promise(() => probeHello(file, 60_000)))
      })
  )
})

describe("the file system of a path", () => {
  it("is named by its number, and remote ones are told from local ones", () => {
    for (const [magic, name, remote] of [
      [0x6969, "nfs", true],
      [0xff534d42, "cifs", true],
      [-11317950, "cifs", true],
      [0x01021997, "9p", true],
      [0x65735546, "fuse", true],
      [0x794c7630, "overlay", false],
      [0xef53, "ext4", false],
      [0x1234, "0x1234", false]
    ] as const) {
      assert.deepStrictEqual(fileSystem.named(magic), { name, remote })
    }
  })
  it("is found for a path that is not there yet", () => {
    if (process.platform !== "linux") return
    assert.deepStrictEqual(fileSystem.of("/proc/self/none/such"), fileSystem.of("/proc"))
  })
})
