import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import type { How } from "./fixture/oddOwner.ts"
import { as, asked, oddOwner, signals, starts, versioned } from "./odd.ts"
import { isReady, withKit } from "./withKit.ts"

const kinds: ReadonlyArray<[How, string]> = [
  ["not-found", "answers 404 to the handshake"],
  ["html", "speaks another kind of HTTP"],
  ["bare", "speaks no HTTP"],
  ["later", "proves itself, has a later registration, and a health that is not known here"]
]

describe.concurrent("an owner that speaks another protocol", () => {
  for (const [how, name] of kinds) {
    it.live(`and ${name} is neither dead nor missing: its version is said, and nobody is started beside it`, () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const odd = yield* oddOwner(kit, how)
          const record = fs.readFileSync(kit.paths.registration, "utf8")
          const spec = versioned(kit, "1.0.0")
          // one of them outlasts the silence after which a contender finds out about an owner that lives
          const patience = how === "not-found" ? "11 seconds" : "1 second"
          const state = yield* as(spec, (client) => client.state, "observe")
          assert.deepStrictEqual(state.status, { type: "unreachable", protocol: "other" })
          assert.deepInclude(state.registration, { version: "0.9.0", pid: odd.pid, instanceID: `odd-${odd.pid}` })
          const reconnecting = yield* as(spec, (client) => client.reconnect()).pipe(Effect.forkScoped)
          const error = yield* as(spec, (client) => Effect.flip(client.ensure({ deadline: patience })))
          assert.strictEqual(error._tag, "ServiceNotReady")
          const words = `Fixture v0.9.0 runs (PID ${odd.pid}) and speaks another protocol than this program.`
          assert.strictEqual(error.message, `Fixture did not become ready: ${words}`)
          assert.strictEqual(error.action, "Run `fixture service restart` to replace it.")
          const mismatch = yield* as(spec, (client) => Effect.flip(client.launch()), "attach")
          assert.deepInclude(mismatch, { _tag: "VersionMismatch", found: "0.9.0", required: "1.0.0" })
          assert.isFalse(odd.hasEnded())
          assert.strictEqual(fs.readFileSync(kit.paths.registration, "utf8"), record)
          assert.deepStrictEqual([starts(kit), signals(kit)], [[], []])
          assert.isUndefined(reconnecting.pollUnsafe())

          const ready = yield* as(spec, (client) => client.launch())
          assert.strictEqual(ready.version, "1.0.0")
          assert.isTrue(odd.hasEnded())
          assert.deepStrictEqual(yield* Fiber.join(reconnecting), ready)
          assert.isAtLeast(starts(kit).length, 1)
          // who can be asked is asked, and is not signalled
          assert.deepStrictEqual(signals(kit), how === "later" ? [] : ["SIGTERM"])
          assert.strictEqual(asked(kit).includes("POST /service/stop"), how === "later")
        })
      )
    )
  }

  it.live("of the version that a launch wants is left alone, also by that launch", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const odd = yield* oddOwner(kit, "not-found", "1.0.0")
        const found = yield* as(versioned(kit, "1.0.0"), (client) => client.launch()).pipe(
          Effect.timeoutOption("3 seconds")
        )
        assert.strictEqual(found._tag, "None")
        assert.isFalse(odd.hasEnded())
        assert.deepStrictEqual([starts(kit), signals(kit)], [[], []])
      })
    )
  )

  it.live("is replaced by a restart, and by a stop told to go", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const odd = yield* oddOwner(kit, "not-found")
        const outcome = yield* as(versioned(kit, "1.0.0"), (client) => client.restart())
        assert.deepInclude(outcome, { _tag: "Restarted", sentence: "Fixture v1.0.0 is ready." })
        assert.isTrue(odd.hasEnded())
        yield* kit.client.stop()
        const second = yield* oddOwner(kit, "html")
        assert.deepStrictEqual(yield* kit.client.stop(), {
          _tag: "Stopped",
          pid: second.pid,
          sentence: "Fixture stopped."
        })
      })
    )
  )

  it.live("that no note names is nobody who may be signalled", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const odd = yield* oddOwner(kit, "not-found")
        fs.rmSync(kit.paths.owner)
        const launching = yield* as(versioned(kit, "1.0.0"), (client) => client.launch()).pipe(
          Effect.timeoutOption("4 seconds")
        )
        assert.strictEqual(launching._tag, "None")
        assert.isFalse(odd.hasEnded())
        assert.deepStrictEqual(signals(kit), [])
      })
    )
  )
})

describe.concurrent("a program that was updated while it ran", () => {
  const files = (directory: string) => path.join(path.dirname(directory), "scratch", "installed")

  it.live(
    "starts the version that is installed once, says so, and leaves it running; a reconnect accepts it, also after the next loss",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const file = files(kit.paths.directory)
          fs.writeFileSync(file, "2.0.0")
          const old = versioned(kit, "1.0.0", `@${file}`)
          const error = yield* as(old, (client) => Effect.flip(client.launch()))
          assert.deepInclude(error, {
            _tag: "VersionMismatch",
            required: "1.0.0",
            found: "2.0.0",
            message: "Fixture v2.0.0 is what is installed now and was started, and v1.0.0 is needed.",
            action: "Quit this program and start it again: it was probably updated while it ran."
          })
          const { registration } = yield* isReady(kit)
          assert.deepStrictEqual(starts(kit), ["2.0.0"])
          const found = yield* as(old, (client) => client.reconnect())
          assert.deepInclude(found, { instanceID: registration!.instanceID, version: "2.0.0" })

          const owner = yield* kit.owner
          yield* owner.kill
          yield* owner.exited
          const next = yield* as(old, (client) => client.reconnect())
          assert.strictEqual(next.version, "2.0.0")
          assert.deepStrictEqual(starts(kit), ["2.0.0", "2.0.0"])
        })
      )
  )

  it.live("that finds its own version running replaces it for nobody", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const file = files(kit.paths.directory)
        fs.writeFileSync(file, "1.0.0")
        const old = versioned(kit, "1.0.0", `@${file}`)
        const first = yield* as(old, (client) => client.launch())
        fs.writeFileSync(file, "2.0.0")
        assert.deepStrictEqual(yield* as(old, (client) => client.launch()), first)
        assert.deepStrictEqual(yield* as(old, (client) => client.reconnect()), first)
        assert.deepStrictEqual(starts(kit), ["1.0.0"])
      })
    )
  )
})
