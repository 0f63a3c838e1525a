import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { runtimes } from "./runtimes.ts"
import { isReady, withKit } from "./withKit.ts"

describe.concurrent("a stop that hangs", () => {
  for (const { name, path } of runtimes) {
    const reason = path === undefined ? ` (${name} is not installed: npm run runtimes)` : ""
    it.live.skipIf(path === undefined)(
      `in an endless loop of the application ends one second past its deadline, by a thread of its own, under ${name}${reason}`,
      () =>
        withKit({ closing: "loop" }, (kit) =>
          Effect.gen(function* () {
            const [owner] = yield* kit.swarm(1, { runtime: path! })
            yield* isReady(kit)
            assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
            assert.deepStrictEqual(yield* owner!.exited, { code: null })
            assert.include(fs.readFileSync(kit.paths.log, "utf8"), "the stop took too long: the process is ended")
            assert.notStrictEqual((yield* kit.client.ensure()).pid, owner!.pid)
          })
        )
    )
  }

  it.live("in an application that never closes is left at its deadline, and exits with 0", () =>
    withKit({ closing: "never" }, (kit) =>
      Effect.gen(function* () {
        const [owner] = yield* kit.swarm(1)
        yield* isReady(kit)
        assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
        assert.deepStrictEqual(yield* owner!.exited, { code: 0 })
        assert.isFalse(fs.existsSync(kit.paths.registration))
        assert.include(fs.readFileSync(kit.paths.log, "utf8"), "the application was left behind at the deadline")
      })
    )
  )
})

describe.concurrent("the log", () => {
  it.live("says the time, the level and the instance in each line, and where it begins, with which runtime", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* kit.swarm(1)
        const { registration } = yield* isReady(kit)
        yield* kit.client.stop()
        const lines = fs.readFileSync(kit.paths.log, "utf8").trim().split("\n")
        const entry = new RegExp(
          `^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z (INFO |WARN |ERROR) ${registration!.instanceID.slice(0, 8)} `
        )
        assert.deepStrictEqual(
          lines.filter((line) => !entry.test(line)),
          []
        )
        assert.include(lines[0], `pid ${registration!.pid}, Node ${process.version}, at most `)
      })
    )
  )

  it.live(
    "stays within its bound while the application prints without end, keeps the newest, and is found again after it was deleted",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* kit.swarm(1)
          yield* isReady(kit)
          const sizes = () =>
            [kit.paths.log, `${kit.paths.log}.1`].map((file) => (fs.existsSync(file) ? fs.statSync(file).size : 0))
          for (let round = 1; round <= 4; round++) {
            yield* (yield* kit.client.http.post("/print")).text // 4 MB each
            yield* kit.eventually("the log is within its bound", sizes, ([now]) => now! <= 5_000_000)
          }
          assert.isAbove(sizes()[1]!, 1_000_000, "the older part is kept")
          assert.strictEqual(fs.statSync(`${kit.paths.log}.1`).mode & 0o077, 0)
          assert.include(
            fs.readFileSync(`${kit.paths.log}.1`, "utf8") + fs.readFileSync(kit.paths.log, "utf8"),
            "the last line of print 4"
          )
          fs.rmSync(kit.paths.log)
          yield* kit.eventually(
            "a log is there again",
            () => fs.existsSync(kit.paths.log),
            (there) => there
          )
          yield* kit.client.stop()
          assert.include(fs.readFileSync(kit.paths.log, "utf8"), "stopped")
        })
      )
  )

  it.live("is not written by health requests", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* kit.swarm(1)
        yield* isReady(kit)
        const before = fs.readFileSync(kit.paths.log, "utf8")
        for (let count = 0; count < 200; count++) yield* kit.client.state
        assert.strictEqual(fs.readFileSync(kit.paths.log, "utf8"), before)
      })
    )
  )
})
