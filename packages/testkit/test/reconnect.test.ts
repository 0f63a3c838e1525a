import { assert, describe, it } from "@effect/vitest"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as fs from "node:fs"
import { pathToFileURL } from "node:url"
import { setKnobs } from "./fixture/service.ts"
import { open, raw, ticks } from "./interfaces.ts"
import { freePort } from "./ports.ts"
import { boots, isReady, withKit } from "./withKit.ts"
import { programOf } from "./fixture/programs.ts"

const counting = programOf("flaky")
const failures = (kit: Testkit["Service"], count: number) =>
  fs.writeFileSync(`${kit.paths.directory}/failures`, String(count))
const starts = (kit: Testkit["Service"]): number =>
  fs.readFileSync(`${kit.paths.directory}/starts`, "utf8").trim().split("\n").length

/** The rows of "Reconnect tests" in the design's seed, each with a terminal user interface of its own. */
describe.concurrent("reconnect", () => {
  it.live("Endpoint disappears and changes port: TUI rediscovers and rebuilds clients", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* freePort, yield* freePort]
      yield* withKit({ port: one }, (kit) =>
        Effect.gen(function* () {
          const screen = yield* open(kit, { CALLS: "1" })
          yield* ticks(kit, screen)
          const owner = yield* kit.owner
          setKnobs(kit.paths.directory, { port: other })
          yield* owner.kill
          yield* owner.exited
          const state = yield* isReady(kit)
          assert.strictEqual(state.registration?.url, `http://127.0.0.1:${other}`)
          yield* ticks(kit, screen, state.registration?.pid)
          yield* kit.eventually(
            "its calls go there, too",
            () => screen.lines("called").at(-1),
            (line) => line === `called: hello from ${state.registration?.pid}`
          )
          assert.lengthOf(screen.lines("reopened"), 2)
          assert.isUndefined(screen.ended())
          assert.notMatch(screen.output(), raw)
        })
      )
    })
  )

  it.live(
    "Service remains unavailable beyond old retry budget: TUI remains alive, and goes on when the service is there again",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          failures(kit, 0)
          const screen = yield* open(kit, { ENTRY: counting })
          yield* ticks(kit, screen)
          const owner = yield* kit.owner
          failures(kit, 1000)
          yield* owner.kill
          const began = performance.now()
          // three attempts in sixteen seconds were the budget that ended the interface
          yield* kit.eventually(
            "twenty seconds are over",
            () => performance.now() - began,
            (ms) => ms > 20_000,
            { within: "30 seconds" }
          )
          assert.isUndefined(screen.ended(), screen.output().slice(-500))
          assert.isAbove(starts(kit), 3)
          failures(kit, 0)
          yield* ticks(kit, screen, (yield* isReady(kit)).registration?.pid)
          assert.lengthOf(screen.lines("reopened"), 2)
          assert.notMatch(screen.output(), raw)
        })
      ),
    60_000
  )

  it.live("Event stream reconnects: client performs authoritative state reconciliation", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const screen = yield* open(kit)
        const pids: Array<number> = []
        for (const end of ["kill", "stop", "restart", undefined] as const) {
          const { registration } = yield* isReady(kit)
          pids.push(registration!.pid)
          yield* ticks(kit, screen, registration!.pid)
          if (end === "kill") yield* Effect.flatMap(kit.owner, (owner) => Effect.andThen(owner.kill, owner.exited))
          else if (end !== undefined) yield* kit.client[end]()
        }
        const told = screen.output().match(/^(reopened|snapshot: .*|tick -1 of .*)$/gm)
        assert.deepStrictEqual(
          told,
          pids.flatMap((pid) => ["reopened", `snapshot: hello from ${pid}`, `tick -1 of ${pid}`])
        )
        assert.notMatch(screen.output(), raw)
      })
    )
  )

  it.live("Transport returns an unexpected defect: TUI formats it; no raw stack escapes", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const broken = `${kit.paths.directory}/broken`
        const preload = `${kit.paths.directory}/preload.mjs`
        fs.writeFileSync(
          preload,
          `import fs from "node:fs"
           import http from "node:http"
           import { syncBuiltinESMExports } from "node:module"
           const real = http.request
           http.request = (...args) => {
             const calls = args.some((one) => String(one?.path ?? one).includes("/hello")) // not a look at the service
             if (calls && fs.existsSync(${JSON.stringify(broken)})) throw new TypeError("x is not a function\\n    at nowhere.js:1:1")
             return real(...args)
           }
           syncBuiltinESMExports()`
        )
        const screen = yield* open(kit, { CALLS: "1", NODE_OPTIONS: `--import ${pathToFileURL(preload).href}` })
        yield* ticks(kit, screen)
        fs.writeFileSync(broken, "")
        const said = yield* kit.eventually(
          "it tells what happened",
          () => screen.lines("error"),
          (lines) => lines.length > 2
        )
        assert.deepStrictEqual(
          [...new Set(said)],
          [
            "error: Something unexpected went wrong: x is not a function     at nowhere.js:1:1 Try again. If it stays so, report it."
          ]
        )
        fs.rmSync(broken)
        const called = screen.lines("called").length
        yield* kit.eventually(
          "its calls are answered again",
          () => screen.lines("called").length,
          (count) => count > called
        )
        assert.isUndefined(screen.ended())
        assert.notMatch(screen.output(), raw)
      })
    )
  )

  it.live(
    "Owner remains unresponsive: TUI waits and shows explicit restart guidance, and so does a TUI that comes only now",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const screen = yield* open(kit)
          yield* ticks(kit, screen)
          const owner = yield* kit.owner
          yield* owner.freeze
          const late = yield* open(kit)
          const guidance =
            "state: The background service owns the service lock but is not responding. Run `fixture service restart` to recover it."
          for (const one of [screen, late])
            yield* kit.eventually(
              "it shows the guidance",
              () => one.lines("state").at(-1),
              (line) => line === guidance,
              { within: "30 seconds" }
            )
          assert.deepStrictEqual([screen.ended(), late.ended()], [undefined, undefined])
          yield* owner.thaw
          for (const one of [screen, late]) yield* ticks(kit, one, owner.pid)
          assert.deepStrictEqual(boots(kit), [owner.pid])
          assert.lengthOf(screen.lines("reopened"), 1)
          for (const one of [screen, late]) {
            yield* kit.eventually(
              "it shows that all is well again",
              () => one.lines("state").at(-1),
              (line) => line === "state: Fixture v1.0.0 is ready."
            )
            assert.notMatch(one.output(), raw)
          }
        })
      ),
    60_000
  )
})

describe.concurrent("Ctrl-C", () => {
  it.live(
    "ends an interface within a second: while the service is ready, frozen, starting, and while nobody can be started",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const ends = (what: string, ready: (output: string) => boolean, env?: Readonly<Record<string, string>>) =>
            Effect.gen(function* () {
              const screen = yield* open(kit, env)
              yield* kit.eventually(`it is there: ${what}`, screen.output, ready, { within: "20 seconds" })
              const before = performance.now()
              screen.signal("SIGINT")
              yield* kit.eventually("it has ended", screen.ended, (code) => code !== undefined)
              assert.isBelow(performance.now() - before, 1000, what)
              assert.strictEqual(screen.ended(), 0, what)
              assert.match(screen.output(), /disposed\n$/, what)
              assert.notMatch(screen.output(), raw, what)
            }).pipe(Effect.scoped)
          failures(kit, 1000)
          yield* ends("nobody can be started", (output) => output.includes("error: Fixture"), { ENTRY: counting })
          setKnobs(kit.paths.directory, { bootMs: 60_000 })
          yield* ends("it starts", (output) => output.includes("state: Starting Fixture"))
          const booting = yield* kit.owner
          yield* booting.kill
          yield* booting.exited
          setKnobs(kit.paths.directory, {})
          yield* ends("it is ready", (output) => output.includes("tick 1 "))
          const owner = yield* kit.owner
          yield* owner.freeze
          yield* ends("it is frozen", (output) => output.includes("state: Waiting"))
          yield* owner.thaw
          assert.strictEqual((yield* isReady(kit)).registration?.pid, owner.pid)
        })
      ),
    60_000
  )
})
