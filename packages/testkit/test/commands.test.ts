import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { service } from "./commandLine.ts"
import { withKit } from "./withKit.ts"

// several processes one after the other, each of which a busy machine may need seconds for
vi.setConfig({ testTimeout: 60_000 })

describe.concurrent("start, stop and restart with --json", () => {
  it.live("print one line each, and their words while they wait on standard error", () =>
    withKit({ bootMs: 700 }, (kit) =>
      Effect.gen(function* () {
        const run = (...args: ReadonlyArray<string>) =>
          Effect.map(service(kit.paths.directory, [...args, "--json"]), ({ code, stderr, stdout }) => {
            assert.lengthOf(stdout.trimEnd().split("\n"), 1, stdout)
            return { code, stderr, value: JSON.parse(stdout) }
          })
        const started = yield* run("start")
        assert.strictEqual(started.code, 0)
        assert.deepStrictEqual(Object.keys(started.value), ["url", "version", "pid", "instanceID"])
        assert.include(started.stderr, "Starting Fixture v1.0.0…")
        const restarted = yield* run("restart")
        assert.strictEqual(restarted.code, 0)
        const { _tag, pid, ready, sentence } = restarted.value
        assert.deepStrictEqual([_tag, pid, sentence], ["Restarted", ready.pid, "Fixture v1.0.0 is ready."])
        assert.notStrictEqual(ready.instanceID, started.value.instanceID)
        const stopped = yield* run("stop")
        assert.deepStrictEqual(
          [stopped.code, stopped.value],
          [0, { _tag: "Stopped", sentence: "Fixture stopped.", pid }]
        )
        const again = yield* run("stop")
        assert.deepStrictEqual(again.value, { _tag: "NotRunning", sentence: "Fixture is not running." })
        assert.strictEqual(again.code, 0)
      })
    )
  )

  it.live("an outcome that is none is a line and a code of its own", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* kit.client.ensure()
        const owner = yield* kit.owner
        yield* owner.kill
        yield* kit.eventually("it has ended", kit.processes, (left) => left.length === 0)
        const note = JSON.parse(fs.readFileSync(kit.paths.owner, "utf8"))
        const elsewhere = { ...note, host: "elsewhere", startIdentity: "boot/pid:[1]/1/machine" }
        fs.writeFileSync(kit.paths.owner, JSON.stringify(elsewhere), { mode: 0o600 })
        const { code, stdout } = yield* service(kit.paths.directory, ["stop", "--json"])
        assert.strictEqual(code, 69)
        assert.deepInclude(JSON.parse(stdout), { _tag: "Unidentified", pid: note.pid })
      })
    )
  )

  it.live("a service that cannot start says why on standard error, and prints nothing", () =>
    withKit({ bootFail: { message: "There is no index.", action: "Run: index" } }, (kit) =>
      Effect.gen(function* () {
        const { code, stderr, stdout } = yield* service(kit.paths.directory, ["start", "--json"])
        assert.deepStrictEqual([code, stdout], [69, ""])
        assert.include(stderr, "There is no index. Run: index")
      })
    )
  )
})
