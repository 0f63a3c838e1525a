import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, vi } from "@effect/vitest"
import * as ServiceCommand from "@holdfast/client/ServiceCommand"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Exit } from "effect"
import { Command } from "effect/cli"
import * as fs from "node:fs"
import * as path from "node:path"
import { service, changesBy } from "./commandLine.ts"
import type { Knobs } from "./fixture/service.ts"
import { killed, withKit } from "./withKit.ts"

interface Case {
  readonly what: string
  readonly knobs?: Knobs
  readonly prepare: (kit: Testkit["Service"]) => Effect.Effect<unknown, unknown>
  readonly code: number
  readonly type: string
  readonly sentence: RegExp
  /** What `doctor` ends with. */
  readonly doctor: number
  readonly after?: (kit: Testkit["Service"]) => Effect.Effect<unknown, unknown>
}

const started = (kit: Testkit["Service"]) => Effect.scoped(kit.swarm(1))
const isNow = (kit: Testkit["Service"], type: string) =>
  kit.waitFor(`it is ${type}`, (state) => state.status.type === type)

/** The note of the running owner, changed. */
const renote = (kit: Testkit["Service"], change: (note: any) => object) =>
  Effect.sync(() => {
    const note = JSON.parse(fs.readFileSync(kit.paths.owner, "utf8"))
    fs.writeFileSync(kit.paths.owner, JSON.stringify({ ...note, ...change(note) }), { mode: 0o600 })
  })

const freeze = (kit: Testkit["Service"]) => Effect.flatMap(kit.owner, (owner) => owner.freeze)
const thaw = (kit: Testkit["Service"]) =>
  Effect.sync(() => {
    for (const { pid } of kit.processes()) process.kill(pid, "SIGCONT")
  })
const cases: ReadonlyArray<Case> = [
  {
    what: "no state directory",
    prepare: (kit) => Effect.sync(() => fs.rmSync(kit.paths.directory, { recursive: true })),
    code: 3,
    type: "missing",
    sentence: /^Fixture is not running\.$/,
    doctor: 0
  },
  {
    what: "a registration without a byte",
    prepare: (kit) => Effect.sync(() => fs.writeFileSync(kit.paths.registration, "")),
    code: 3,
    type: "missing",
    sentence: /^Fixture is not running\.$/,
    doctor: 0
  },
  {
    what: "a registration, a note and a lease of half a line each",
    prepare: (kit) =>
      Effect.sync(() => {
        for (const file of [kit.paths.registration, kit.paths.owner, kit.paths.lease]) fs.writeFileSync(file, '{"sch')
      }),
    code: 3,
    type: "missing",
    sentence: /^Fixture is not running\.$/,
    doctor: 1
  },
  {
    what: "an owner that was killed",
    prepare: killed,
    code: 3,
    type: "unreachable",
    sentence: /^Fixture is not running\. It ended without being stopped\.$/,
    doctor: 0
  },
  {
    what: "an owner that is ready",
    prepare: (kit) => kit.client.ensure(),
    code: 0,
    type: "ready",
    sentence: /^Fixture v1\.0\.0 is ready \(PID \d+\)\.$/,
    doctor: 0
  },
  {
    what: "an owner of another version that is ready",
    knobs: { version: "0.9.0" },
    prepare: (kit) => kit.client.ensure(),
    code: 0,
    type: "ready",
    sentence: /^Fixture v0\.9\.0 is ready \(PID \d+\); this program is v1\.0\.0\.$/,
    doctor: 1
  },
  {
    what: "an owner that is starting",
    knobs: { bootMs: 60_000, progress: "Counting" },
    prepare: (kit) => Effect.andThen(started(kit), isNow(kit, "starting")),
    code: 5,
    type: "starting",
    sentence: /^Starting Fixture v1\.0\.0… Counting \(PID \d+\)$/,
    doctor: 0
  },
  {
    what: "an owner whose boot failed",
    knobs: { bootFail: { message: "There is no index.", action: "Run: index" } },
    prepare: (kit) => Effect.andThen(started(kit), isNow(kit, "failed")),
    code: 7,
    type: "failed",
    sentence: /^There is no index\. \(PID \d+\) Run: index$/,
    doctor: 1
  },
  {
    what: "an owner that is frozen",
    prepare: (kit) => Effect.andThen(kit.client.ensure(), freeze(kit)),
    code: 4,
    type: "unreachable",
    sentence: /^Fixture does not answer\. If it stays so, run `fixture service restart`\.$/,
    doctor: 1,
    after: thaw
  },
  {
    what: "an owner that lost its registration, frozen before it could put it back",
    prepare: (kit) =>
      kit.client.ensure().pipe(
        Effect.andThen(freeze(kit)),
        Effect.andThen(Effect.sync(() => fs.rmSync(kit.paths.registration))),
        // not one that has only just started, whose records may be on their way
        Effect.andThen(renote(kit, ({ startedAt }) => ({ startedAt: startedAt - 60_000 })))
      ),
    code: 4,
    type: "missing",
    sentence: /^Fixture runs \(PID \d+\) and is not registered at the moment; it will be within seconds\.$/,
    doctor: 1,
    after: thaw
  },
  {
    what: "an owner on another host",
    prepare: (kit) =>
      Effect.andThen(
        killed(kit),
        renote(kit, () => ({ host: "elsewhere", startIdentity: "boot/pid:[1]/1/machine" }))
      ),
    code: 4,
    type: "unreachable",
    sentence: /^Fixture runs on host elsewhere, or did; that cannot be told from here\.$/,
    doctor: 1
  }
]

// several processes one after the other, each of which a busy machine may need seconds for
vi.setConfig({ testTimeout: 60_000 })

describe.concurrent("status, logs and doctor change nothing and start nobody, and status has an exit code for", () => {
  for (const { after, code, doctor, knobs = {}, prepare, sentence, type, what } of cases) {
    it.live(what, () =>
      withKit(knobs, (kit) =>
        Effect.gen(function* () {
          yield* prepare(kit)
          const { directory } = kit.paths
          const commands = [["status"], ["status", "--json"], ["logs"], ["doctor", "--json"]]
          const { changes, value } = yield* changesBy(
            kit,
            path.dirname(directory),
            Effect.forEach(commands, (args) => service(directory, args), { concurrency: 2 })
          )
          const [said, json, , examined] = value
          const quick = yield* service(directory, ["status", "--json"], { quick: true })
          assert.deepStrictEqual([quick.stdout, quick.code, quick.stderr], [json!.stdout, code, ""])
          assert.match(said!.stdout.trimEnd(), sentence)
          const state = JSON.parse(json!.stdout)
          assert.deepStrictEqual(Object.keys(state), ["status", "registration", "health"])
          assert.strictEqual(state.status.type, type)
          assert.lengthOf(json!.stdout.trimEnd().split("\n"), 1)
          assert.deepStrictEqual(
            value.map(({ code }) => code),
            [code, code, 0, doctor],
            examined!.stdout
          )
          assert.deepStrictEqual(
            value.map(({ stderr }) => stderr.replace(/^There is no log yet; it will be .*\n$/, "")),
            ["", "", "", ""]
          )
          assert.deepStrictEqual(changes, [])
          if (after !== undefined) yield* after(kit)
        })
      )
    )
  }
})

describe("status", () => {
  it.live("of an owner that is stopping says so, with a code of its own", () =>
    withKit({ closing: "never" }, (kit) =>
      Effect.gen(function* () {
        // it stops for two seconds; on a busy machine a look may come too late for the first one
        for (let round = 0; round < 6; round++) {
          const { pid } = yield* kit.client.ensure()
          process.kill(pid, "SIGTERM")
          const said = yield* service(kit.paths.directory, ["status"], { env: { FX_VERSION: "2.0.0" } })
          yield* kit.eventually("it has ended", kit.processes, (left) => left.length === 0)
          if (said.code === 3) continue
          assert.strictEqual(said.code, 6)
          assert.match(said.stdout, /^Fixture v1\.0\.0 is stopping \(PID \d+\); this program is v2\.0\.0\.\n$/)
          return
        }
        assert.fail("it had always ended before it was looked at")
      })
    )
  )

  it.live("answers within two seconds when the owner is frozen, the start of its process aside", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* kit.client.ensure()
        const owner = yield* kit.owner
        yield* owner.freeze
        const said = vi.spyOn(console, "log").mockImplementation(() => undefined)
        const started = performance.now()
        const ended = yield* Command.runWith(ServiceCommand.make(kit.spec), { version: "1.0.0" })(["status"]).pipe(
          Effect.provide(NodeServices.layer),
          Effect.exit
        )
        const took = performance.now() - started
        said.mockRestore()
        yield* owner.thaw
        assert.isTrue(Exit.isFailure(ended))
        assert.isBelow(took, 2000)
      })
    )
  )
})
