import { assert, describe, it } from "@effect/vitest"
import * as Capability from "@holdfast/testkit/Capability"
import { Effect, Exit, Fiber } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { place } from "./faulting.ts"
import { withKit } from "./withKit.ts"

describe("a file fault", () => {
  it.effect("keeps the inode where it is in place, and changes it where the file is replaced", () =>
    Effect.gen(function* () {
      const { faults, paths, told } = yield* place
      fs.writeFileSync(paths.lease, "x".repeat(10_000), { mode: 0o600 })
      const before = fs.statSync(paths.lease)
      yield* faults.faultFile("lease", "garbage")
      const garbage = fs.readFileSync(paths.lease)
      assert.deepInclude(fs.statSync(paths.lease), { ino: before.ino, size: 10_000, mode: before.mode })
      assert.isAbove(new Set(garbage).size, 200)
      yield* faults.faultFile("lease", "truncate")
      assert.deepInclude(fs.statSync(paths.lease), { ino: before.ino, size: 0 })
      yield* faults.faultFile("lease", { chmod: 0o644 })
      assert.strictEqual(fs.statSync(paths.lease).mode & 0o777, 0o644)
      yield* faults.faultFile("lease", { replace: "another" })
      assert.notStrictEqual(fs.statSync(paths.lease).ino, before.ino)
      assert.strictEqual(fs.statSync(paths.lease).mode & 0o777, 0o600)
      assert.strictEqual(fs.readFileSync(paths.lease, "utf8"), "another")
      yield* faults.faultFile("lease", "directory")
      assert.isTrue(fs.statSync(paths.lease).isDirectory())
      yield* faults.faultFile("lease", { link: "/nowhere" })
      assert.strictEqual(fs.readlinkSync(paths.lease), "/nowhere")
      yield* faults.faultFile("lease", "delete")
      assert.deepStrictEqual(fs.readdirSync(paths.directory), [])
      assert.deepStrictEqual(told, [
        "lease is garbage",
        "lease is empty",
        "lease has the mode 644",
        "lease is another file",
        "lease is a directory",
        "lease is a link to /nowhere",
        "lease is deleted"
      ])
    }).pipe(Effect.scoped)
  )

  it.effect("of nothing: deleting and emptying do nothing, the others make it, garbage always the same", () =>
    Effect.gen(function* () {
      const { faults, paths } = yield* place
      yield* faults.faultFile("owner", "delete")
      yield* faults.faultFile("owner", "truncate")
      assert.deepStrictEqual(fs.readdirSync(paths.directory), [])
      yield* faults.faultFile("owner", "garbage")
      const first = fs.readFileSync(paths.owner)
      assert.deepInclude(fs.statSync(paths.owner), { size: 4096 })
      assert.strictEqual(fs.statSync(paths.owner).mode & 0o777, 0o600)
      yield* faults.faultFile("owner", "delete")
      yield* faults.faultFile("owner", "garbage")
      assert.isTrue(fs.readFileSync(paths.owner).equals(first))
      yield* faults.faultFile("secret", { replace: "text" })
      assert.strictEqual(fs.statSync(paths.secret).mode & 0o777, 0o600)
      yield* faults.faultFile("log", "directory")
      assert.isTrue(fs.statSync(paths.log).isDirectory())
      assert.isTrue(Exit.isFailure(yield* Effect.exit(faults.faultFile("lock", { chmod: 0 }))))
    }).pipe(Effect.scoped)
  )

  it.effect("of the cache is of every file in it", () =>
    Effect.gen(function* () {
      const { faults, paths } = yield* place
      const file = path.join(paths.cache, "deeper", "code")
      fs.mkdirSync(path.dirname(file), { recursive: true })
      fs.writeFileSync(file, "code")
      yield* faults.faultFile("cache", "garbage")
      assert.strictEqual(fs.statSync(file).size, 4096)
      yield* faults.faultFile("cache", "truncate")
      assert.strictEqual(fs.statSync(file).size, 0)
      yield* faults.faultFile("cache", "delete")
      assert.isFalse(fs.existsSync(paths.cache))
    }).pipe(Effect.scoped)
  )
})

const clock = Capability.unless("clockJump")

describe("a clock that jumps", () => {
  it.live.skipIf(clock.skip)(
    `is the wall clock of who was started with it, and of nobody else; jumps add up, forth and back${clock.suffix}`,
    () =>
      Effect.gen(function* () {
        const { faults } = yield* place
        const environment = yield* faults.clockEnvironment
        const program =
          'process.stdout.write(`${Date.now()} ${performance.now()}\\n`); process.stdin.on("data", () => process.stdout.write(`${Date.now()} ${performance.now()}\\n`))'
        const child = yield* Effect.acquireRelease(
          Effect.sync(() =>
            childProcess.spawn(process.execPath, ["-e", program], {
              env: { ...process.env, ...environment },
              stdio: ["pipe", "pipe", "inherit"]
            })
          ),
          (child) => Effect.sync(() => void child.kill("SIGKILL"))
        )
        const line = Effect.callback<ReadonlyArray<number>>((resume) => {
          child.stdout.once("data", (text: Buffer) => resume(Effect.succeed(text.toString().split(" ").map(Number))))
        })
        let [wall, uptime] = (yield* line) as [number, number]
        assert.isBelow(Math.abs(wall - Date.now()), 60_000)
        for (const [by, offsetMs] of [
          ["1 hour", 3_600_000],
          ["90 seconds", 3_690_000],
          [-2 * 3_600_000, -3_510_000],
          [1500, -3_508_500]
        ] as const) {
          yield* faults.clockJump(by)
          child.stdin.write("now\n")
          const [now, later] = (yield* line) as [number, number]
          assert.isBelow(Math.abs(now - Date.now() - offsetMs), 60_000, String(by))
          assert.isBelow(Math.abs(later - uptime), 60_000, "its monotonic clock")
          wall = now
          uptime = later
        }
        assert.isBelow(wall, Date.now())
      }).pipe(Effect.scoped)
  )
})

/** What comes back on a connection that says `hello`, until there is as much as wanted. */
const heard = (port: number, host: string, wanted: number): Effect.Effect<string> =>
  Effect.callback((resume) => {
    let text = ""
    const socket = net.connect(port, host, () => socket.write("hello"))
    const end = () => {
      socket.destroy()
      resume(Effect.succeed(text))
    }
    socket.on("data", (data) => {
      text += data.toString("latin1")
      if (text.length >= wanted) end()
    })
    socket.on("error", end)
    socket.on("close", end)
    return Effect.sync(() => socket.destroy())
  })

describe("a stranger on a port", () => {
  for (const [how, wanted, expected] of [
    ["answers", 20, /^HTTP\/1.1 200 OK/],
    ["drips", 2, /^HT/],
    ["floods", 1_000_000, /^HTTP\/1.1 200 OK/]
  ] as const) {
    it.live(`that ${how} does so, knows what it was sent, and is gone with its scope`, () =>
      Effect.gen(function* () {
        const { faults, told } = yield* place
        const stranger = yield* Effect.gen(function* () {
          const stranger = yield* faults.occupyPort(how)
          const text = yield* heard(stranger.port, "127.0.0.1", wanted)
          assert.match(text, expected)
          assert.isAtLeast(text.length, wanted)
          assert.strictEqual(stranger.received(), "hello")
          assert.strictEqual(stranger.connections(), 1)
          return stranger
        }).pipe(Effect.scoped)
        assert.strictEqual(yield* heard(stranger.port, "127.0.0.1", 1), "")
        assert.strictEqual(stranger.connections(), 1)
        assert.deepStrictEqual(told, [`a stranger at ${stranger.url} ${how}`, `the stranger at ${stranger.url} leaves`])
      }).pipe(Effect.scoped)
    )
  }

  it.live("that hangs takes everything and says nothing, until it leaves and cuts the connection", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { faults } = yield* place
        const waiting = yield* Effect.gen(function* () {
          const stranger = yield* faults.occupyPort("hangs")
          const fiber = yield* Effect.forkDetach(heard(stranger.port, "127.0.0.1", 1))
          yield* kit.eventually("it has been told", stranger.received, (text) => text === "hello")
          return fiber
        }).pipe(Effect.scoped)
        assert.strictEqual(yield* Fiber.join(waiting), "")
      })
    )
  )

  it.live("takes the port and the host that it is given; a port that is another's is PortTaken", () =>
    Effect.gen(function* () {
      const { faults } = yield* place
      const first = yield* faults.occupyPort("answers", { host: "0.0.0.0" })
      const error = yield* Effect.flip(faults.occupyPort("answers", { port: first.port }))
      assert.deepInclude(error, { _tag: "PortTaken", port: first.port, reason: "EADDRINUSE" })
      assert.include(error.message, `port ${first.port}`)
      assert.isNotEmpty(error.action)
    }).pipe(Effect.scoped)
  )
})
