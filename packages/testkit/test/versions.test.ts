import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { checkout } from "./checkout.ts"
import type { How } from "./fixture/oddOwner.ts"
import { as, asked, oddOwner, signals, starts, versioned } from "./odd.ts"
import { boots, isReady, withKit } from "./withKit.ts"

const kinds: ReadonlyArray<[How, string]> = [
  ["not-found", "answers 404 to the handshake"],
  ["html", "speaks another kind of HTTP"],
  ["bare", "speaks no HTTP"],
  ["later", "proves itself, has a later registration, and a health that is not known here"]
]

describe.concurrent("an owner that speaks another protocol", { timeout: 90_000 }, () => {
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

describe.concurrent("a program that was updated while it ran", { timeout: 90_000 }, () => {
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
            message: "Fixture was updated while this program ran: v2.0.0 is running, and v1.0.0 is needed.",
            action: "Quit this program and start it again."
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

describe.concurrent("a program that is run from its checkout", { timeout: 90_000 }, () => {
  it.live("is replaced by the next launch after an edit, and by no reconnect; without an edit by nobody", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { edit, run } = checkout(kit)
        edit("one")
        const first = yield* run("launch")
        assert.strictEqual(first.words, "one", first.message ?? "")
        assert.match(first.mine, /^1\.0\.0\+dev\.\d{8}T\d{9}Z$/)
        assert.strictEqual(first.ready?.version, first.mine)
        assert.deepStrictEqual(yield* run("launch"), first)
        edit("two")
        const reconnected = yield* run("reconnect")
        assert.notStrictEqual(reconnected.mine, first.mine)
        assert.deepStrictEqual([reconnected.ready, reconnected.words], [first.ready, "one"])
        const second = yield* run("launch")
        assert.deepStrictEqual([second.words, second.ready?.version], ["two", reconnected.mine])
        assert.deepStrictEqual(boots(kit), [first.ready!.pid, second.ready!.pid])
      })
    )
  )

  it.live("and edited while six clients launch it ends in the edited version, without a fight", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { edit, run } = checkout(kit)
        edit("one")
        const first = yield* run("launch")
        const scratch = path.join(path.dirname(kit.paths.directory), "scratch")
        const barrier = path.join(scratch, "go")
        const start = () => Effect.forkScoped(run("launch", barrier))
        const waiting = (count: number) =>
          kit.eventually(
            `${count} clients wait`,
            () => fs.readdirSync(scratch).filter((name) => name.startsWith("go-")).length,
            (found) => found === count,
            { within: "60 seconds" }
          )
        const before = yield* Effect.forEach([1, 2, 3], start)
        yield* waiting(3)
        edit("two")
        const after = yield* Effect.forEach([1, 2, 3], start)
        yield* waiting(6)
        fs.writeFileSync(barrier, "")
        const answers = yield* Effect.forEach([...before, ...after], Fiber.join)
        const last = yield* run("launch")
        for (const answer of answers) {
          // who began before the edit and was overtaken by it says so
          if (answer._tag !== undefined) assert.deepInclude(answer, { _tag: "VersionMismatch", mine: first.mine })
          else assert.isDefined(answer.ready, answer.message)
        }
        assert.deepStrictEqual([last.words, last.ready?.version], ["two", last.mine])
        assert.deepStrictEqual(boots(kit), [first.ready!.pid, last.ready!.pid], JSON.stringify(answers))
      })
    )
  )
})
