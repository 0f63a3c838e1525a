import { assert, describe, it } from "@effect/vitest"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Layer, Schedule } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import { pathToFileURL } from "node:url"
import { stranger } from "./faulting.ts"
import { sourceOf } from "./fixture/programs.ts"
import { fixture } from "./fixture/service.ts"
import { withPictures } from "./pictures.ts"
import { boots, isReady, withKit } from "./withKit.ts"

const startup = /node_modules\/effect\/|application\.ts$/

describe("election", () => {
  it.live("Ten contenders start simultaneously: exactly one crosses the application-boot boundary", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        // from the sources: in a bundle one could not see what is loaded
        const members = yield* kit.swarm(10, { spec: { ...kit.spec, entry: pathToFileURL(sourceOf("daemon")) } })
        const owner = yield* kit.owner
        const losers = members.filter(({ pid }) => pid !== owner.pid)
        const ended = yield* Effect.forEach(losers, (loser) => loser.exited, { concurrency: "unbounded" }).pipe(
          Effect.timeout("2 seconds")
        )
        assert.deepStrictEqual(
          ended,
          Array.from({ length: 9 }, () => ({ code: 0 }))
        )
        yield* isReady(kit)
        assert.deepStrictEqual(boots(kit), [owner.pid])
        for (const loser of losers) {
          assert.isNotEmpty(kit.loaded(loser), "the list of loaded modules works")
          assert.isEmpty(kit.loaded(loser).filter((url) => startup.test(url)))
        }
        assert.isNotEmpty(kit.loaded(owner).filter((url) => startup.test(url)))
      })
    )
  )
})

describe.concurrent("election", () => {
  it.live("An unresponsive owner is not killed without an explicit recovery command", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* kit.swarm(1)
        const owner = yield* kit.owner
        yield* isReady(kit)
        yield* owner.freeze
        // 11 s: beyond the health requests, the silence of 10 s and the deadline of ensure, so that a client does spawn
        const next = ServiceClient.layer({ ...kit.spec, version: "2.0.0" })
        const [error, launched] = yield* Effect.all(
          [
            kit.client.ensure({ deadline: "13 seconds" }).pipe(Effect.flip),
            // nor by a launch that wants another version
            Effect.flatMap(ServiceClient, (client) => client.launch()).pipe(
              Effect.provide(Layer.fresh(next)),
              Effect.timeoutOption("13 seconds")
            )
          ],
          { concurrency: "unbounded" }
        )
        assert.strictEqual(launched._tag, "None")
        assert.strictEqual(error._tag, "ServiceNotReady")
        assert.deepStrictEqual(boots(kit), [owner.pid])
        yield* owner.thaw
        const state = yield* isReady(kit)
        assert.strictEqual(state.registration?.pid, owner.pid)
        assert.deepStrictEqual(boots(kit), [owner.pid])
      })
    )
  )

  for (const crashAt of ["after-lock", "after-register", "during-boot"] as const) {
    it.live(`the winner crashes ${crashAt.replace("-", " ")}: the lock is released and a later attempt wins`, () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const [crashed] = yield* kit.swarm(1, { crashAt })
          yield* crashed!.exited
          const [successor] = yield* kit.swarm(1)
          const state = yield* isReady(kit)
          assert.strictEqual(state.registration?.pid, successor!.pid)
          assert.isNotTrue(boots(kit).length > 2)
        })
      )
    )
  }

  it.live(
    "a crash in the middle of writing a record leaves the old one or none, and the next owner needs no cleaning",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const [crashed] = yield* kit.swarm(1, { crashAt: "at-rename" })
          yield* crashed!.exited
          assert.isFalse(fs.existsSync(kit.paths.registration))
          const [successor] = yield* kit.swarm(1)
          assert.strictEqual((yield* isReady(kit)).registration?.pid, successor!.pid)
          const left = fs.readdirSync(kit.paths.directory).filter((name) => name.endsWith(".tmp"))
          assert.deepStrictEqual(left, [])
        })
      )
  )

  it.live(
    "Registration names a dead PID: new contender can acquire the released lock, as with one that is malformed or foreign",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const record = (pid: number) =>
            JSON.stringify({ schema: 1, instanceID: "gone", version: "1.0.0", url: "http://127.0.0.1:9", pid })
          for (const text of ["{ garbage", "", record(4_000_000), record(process.pid)]) {
            fs.writeFileSync(kit.paths.registration, text)
            const [contender] = yield* kit.swarm(1)
            const state = yield* isReady(kit)
            assert.strictEqual(state.registration?.pid, contender!.pid, `with ${text}`)
            yield* contender!.kill
            yield* contender!.exited
          }
        })
      )
  )

  it.live("Explicit configured port is foreign-owned: fail diagnostically; do not kill the foreign process", () =>
    Effect.gen(function* () {
      const { port, url } = yield* stranger("answers")
      yield* withKit({ port }, (kit) =>
        Effect.gen(function* () {
          const error = yield* kit.client.launch().pipe(Effect.flip)
          assert.strictEqual(error._tag, "ContenderUnusable")
          assert.include(error.message, `Port ${port} is in use by another program`)
          assert.isTrue((yield* Effect.promise(() => fetch(url))).ok, "it still listens")
          assert.isEmpty(boots(kit))
        })
      )
    }).pipe(Effect.scoped)
  )

  it.live("Two installation channels start: each elects an independent owner, as do two profiles", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const keys = [
          {},
          { channel: "preview" },
          { channel: "work", profile: "default" },
          { channel: "default", profile: "work" },
          { channel: "stable", profile: "work" }
        ]
        const pids = yield* Effect.forEach(keys, (key) =>
          Effect.flatMap(ServiceClient, (client) => client.launch()).pipe(
            Effect.map(({ pid }) => pid),
            Effect.provide(Layer.fresh(ServiceClient.layer({ ...kit.spec, ...key })))
          )
        )
        assert.strictEqual(new Set(pids).size, keys.length)
        assert.deepStrictEqual([...boots(kit)].sort(), [...pids].sort())
        yield* Effect.forEach(keys, (key) =>
          Effect.flatMap(ServiceClient, (client) => client.stop()).pipe(
            Effect.map(({ _tag }) => assert.strictEqual(_tag, "Stopped")),
            Effect.provide(Layer.fresh(ServiceClient.layer({ ...kit.spec, ...key })))
          )
        )
      })
    )
  )
})

describe("the harness", () => {
  it.live("fails a test that leaves a process behind, and ends that process", () =>
    Effect.gen(function* () {
      let left: ChildProcess | undefined
      const exit = yield* Effect.gen(function* () {
        const kit = yield* Testkit
        left = spawn("sleep", ["60"], { cwd: kit.paths.directory, stdio: "ignore" })
      }).pipe((test) =>
        withPictures((timelines) => Effect.exit(Effect.provide(test, Testkit.layer(fixture, { timelines }))))
      )
      assert.strictEqual(exit._tag, "Failure")
      assert.include(JSON.stringify(exit), "Processes were left")
      assert.include(JSON.stringify(exit), "sleep 60")
      // its end is told to its parent, this process, a moment later
      const ended = Effect.sync(() => left?.signalCode).pipe(
        Effect.repeat({ schedule: Schedule.spaced("10 millis"), until: (signal) => signal !== null }),
        Effect.timeout("5 seconds")
      )
      assert.strictEqual(yield* ended, "SIGKILL")
    })
  )
})
