import { assert, describe, it } from "@effect/vitest"
import { createServiceClient } from "@holdfast/client/promise"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { Clock, Effect, Fiber, Schedule } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { clientSays, may } from "./elsewhere.ts"
import { as, asked, launched, oddOwner, program, reigns, signals, starts, versioned } from "./odd.ts"
import { one } from "./people.ts"
import { isReady, withKit } from "./withKit.ts"

const v1 = "1.0.0"
const v2 = "2.0.0"

describe.concurrent("two installed versions", { timeout: 90_000 }, () => {
  it.live(
    "Existing reconnecting TUIs never replace the current owner; two versions launched in turn get their own by one replacement each",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* launched(kit, v1)
          const stayed = [yield* program(kit, "reconnect", v1), yield* program(kit, "reconnect", v2)]
          const begin = yield* Clock.currentTimeMillis
          const turns = [v1]
          while ((yield* Clock.currentTimeMillis) - begin < 30_000) {
            const version = turns.length % 3 === 2 ? v1 : v2 // so that every version also finds its own
            const { error, value } = yield* launched(kit, version)
            assert.strictEqual(value?.version, version, error?.message)
            turns.push(version)
            yield* kit.eventually(
              `both that stay are connected to ${value.pid}`,
              () => stayed.map((each) => each.said().at(-1)?.pid),
              (pids) => pids.every((pid) => pid === value.pid),
              { within: "30 seconds" }
            )
          }
          const changes = turns.filter((version, index) => version !== turns[index - 1])
          // one owner after the other, none killed, and none that nobody launched
          assert.deepStrictEqual(
            reigns(kit).map(({ version }) => version),
            changes
          )
          for (const each of stayed) {
            const pids = each.said().map(({ pid }) => pid)
            assert.deepStrictEqual(pids, [...new Set(pids)], "no owner is lost and found again")
          }
          assert.isAtMost(starts(kit).length, changes.length * 1.5, `starts for ${changes.length} owners`)
        })
      )
  )

  it.live(
    "five launches of the next one at once: one successor for all; who is attached resumes, and what was in flight ends",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const first = yield* launched(kit, v1)
          const attached = [yield* program(kit, "reconnect", v1), yield* program(kit, "reconnect", v1)]
          const client = yield* Effect.acquireRelease(
            Effect.sync(() => createServiceClient(versioned(kit, v1))),
            (client) => Effect.promise(() => client.dispose())
          )
          yield* Effect.promise(() => client.reconnect())
          const both = (pid: number) =>
            kit.eventually(
              `both are attached to ${pid}`,
              () => attached.map((each) => each.said().at(-1)?.pid),
              (pids) => pids.every((found) => found === pid),
              { within: "30 seconds" }
            )
          yield* both(first.value.pid)
          const long = client.fetch("/three-seconds").then((response) => response.text())
          const once = client.fetch("/count-and-hang-once", { method: "POST" }).catch((error) => error)
          yield* kit.eventually(
            "both requests are there",
            () => fs.existsSync(path.join(kit.paths.directory, "counted")),
            (there) => there
          )
          const found = yield* Effect.forEach([1, 2, 3, 4, 5], () => launched(kit, v2), { concurrency: "unbounded" })
          const second = found[0].value
          assert.strictEqual(second?.version, v2, JSON.stringify(found))
          assert.deepStrictEqual(
            found.map(({ value }) => value),
            [second, second, second, second, second],
            JSON.stringify(found)
          )
          yield* both(second.pid)
          assert.deepStrictEqual(reigns(kit), [
            { version: v1, pid: first.value.pid },
            { version: v2, pid: second.pid }
          ])
          assert.strictEqual(yield* Effect.promise(() => long), "three seconds")
          assert.deepInclude(yield* Effect.promise(() => once), { _tag: "TransportLost", landed: "maybe" })
        })
      )
  )
})

describe.concurrent("clients of the old version that call without end", { timeout: 90_000 }, () => {
  for (const [what, end] of [
    ["a launch of the next one", (spec: ServiceSpec) => as(spec, (client) => client.launch())],
    [
      "a restart by the next one",
      (spec: ServiceSpec) =>
        as(spec, (client) =>
          Effect.map(client.restart(), (outcome) => (outcome._tag === "Restarted" ? outcome.ready : assert.fail()))
        )
    ]
  ] as const) {
    it.live(`do not bring it back during ${what}, and lose no call`, () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const first = yield* as(versioned(kit, v1), (client) => client.launch())
          let done = false
          const answers = new Set<string>()
          const calling = yield* Effect.forEach(
            [1, 2, 3],
            () =>
              as(versioned(kit, v1), (client) =>
                Effect.flatMap(client.http.get("/hello"), ({ text }) => text).pipe(
                  Effect.tap((text) => Effect.sync(() => answers.add(text))),
                  Effect.repeat({ schedule: Schedule.spaced("10 millis"), until: () => done })
                )
              ),
            { concurrency: "unbounded" }
          ).pipe(Effect.forkScoped)
          yield* kit.eventually(
            "they are served",
            () => answers.size,
            (size) => size > 0
          )
          const next = yield* end(versioned(kit, v2))
          assert.strictEqual(next.version, v2)
          yield* kit.eventually(
            "they are served by the next one",
            () => answers.has(`hello from ${next.pid}`),
            (served) => served
          )
          done = true
          yield* Fiber.join(calling)
          assert.deepStrictEqual(reigns(kit), [
            { version: v1, pid: first.pid },
            { version: v2, pid: next.pid }
          ])
        })
      )
    )
  }
})

describe.concurrent("an owner of another version that takes its time", { timeout: 90_000 }, () => {
  for (const [how, name] of [
    ["lingers", "goes on answering"],
    ["closes", "closes its port and is registered no more"]
  ] as const) {
    it.live(`to exit, three seconds after it agreed, and ${name}: only the next instance is returned`, () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const odd = yield* oddOwner(kit, how)
          const spec = versioned(kit, v1)
          const texts = yield* as(spec, (client) =>
            Effect.gen(function* () {
              const ready = yield* client.launch()
              assert.isTrue(odd.hasEnded())
              assert.strictEqual(ready.version, v1)
              assert.notStrictEqual(ready.pid, odd.pid)
              const calls = Array.from({ length: 20 }, () =>
                Effect.flatMap(client.http.get("/hello"), ({ text }) => text)
              )
              assert.deepStrictEqual(yield* client.reconnect(), ready)
              const answers = yield* Effect.all(calls)
              return answers.filter((text) => text === `hello from ${ready.pid}`)
            })
          )
          assert.lengthOf(texts, 20)
          assert.deepStrictEqual([signals(kit), starts(kit)], [[], [v1]])
          assert.lengthOf(
            asked(kit).filter((line) => line === "POST /service/stop"),
            1
          )
        })
      )
    )
  }

  it.live("and outlives the deadline it agreed to is signalled, and replaced", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const odd = yield* oddOwner(kit, "stays")
        const ready = yield* as(versioned(kit, v1), (client) => client.launch())
        assert.strictEqual(ready.version, v1)
        assert.isTrue(odd.hasEnded())
        assert.deepStrictEqual(signals(kit), ["SIGTERM"]) // and SIGKILL, which nobody hears
      })
    )
  )
})

describe.concurrent("a launch that was frozen after it had asked", { timeout: 90_000 }, () => {
  it.live("Stale launcher observes a new instance: it does not signal the new instance", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const odd = yield* oddOwner(kit, "stays")
        const launcher = yield* program(kit, "launch", v1)
        yield* kit.eventually(
          "it has asked",
          () => asked(kit).includes("POST /service/stop"),
          (yes) => yes,
          { within: "30 seconds" }
        )
        process.kill(launcher.pid, "SIGSTOP")
        process.kill(odd.pid, "SIGKILL")
        const next = yield* as(versioned(kit, "3.0.0"), (client) => client.ensure({ deadline: "20 seconds" }))
        process.kill(launcher.pid, "SIGCONT")
        yield* launcher.ended
        assert.deepInclude(launcher.said()[0].error, {
          _tag: "VersionMismatch",
          message: "Fixture v3.0.0 is running, and v1.0.0 is needed."
        })
        const { registration } = yield* isReady(kit)
        assert.strictEqual(registration?.instanceID, next.instanceID)
        assert.deepStrictEqual([signals(kit), starts(kit)], [[], ["3.0.0"]])
      })
    )
  )
})

describe.concurrent("a restart of a service that does not answer", { timeout: 90_000 }, () => {
  it.live("since it is busy ends in another instance", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        yield* Effect.flatMap(kit.client.http.post("/block"), ({ text }) => text)
        const outcome = yield* kit.client.restart()
        if (outcome._tag !== "Restarted") return assert.fail(outcome.sentence)
        assert.notStrictEqual(outcome.ready.instanceID, first.instanceID)
        assert.strictEqual(outcome.sentence, "Fixture v1.0.0 is ready.")
      })
    )
  )

  it.live("since it is frozen, and thaws in the middle, ends in another instance: it stops by itself", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        const owner = yield* kit.owner
        yield* owner.freeze
        const restarting = yield* kit.client.restart().pipe(Effect.forkScoped)
        const pending = () => {
          const found = /^ShdPnd:\s*([0-9a-f]+)$/m.exec(fs.readFileSync(`/proc/${owner.pid}/status`, "utf8"))
          return (Number.parseInt(found![1]!, 16) >> 14) & 1
        }
        yield* kit.eventually("it was told to stop", pending, (told) => told === 1)
        yield* owner.thaw
        const outcome = yield* Fiber.join(restarting)
        if (outcome._tag !== "Restarted") return assert.fail(outcome.sentence)
        assert.notStrictEqual(outcome.ready.instanceID, first.instanceID)
        assert.include(fs.readFileSync(kit.paths.log, "utf8"), " stopped\n")
      })
    )
  )

  it.live("and cannot be proved to be gone fails, in words, and uses nobody", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const odd = yield* oddOwner(kit, "no-note")
        const outcome = yield* as(versioned(kit, v1), (client) => client.restart())
        assert.deepStrictEqual(outcome, {
          _tag: "StillRunning",
          pid: odd.pid,
          sentence: "Fixture agreed to stop and has not ended yet."
        })
        assert.isFalse(odd.hasEnded())
        assert.deepStrictEqual([signals(kit), starts(kit)], [[], []])
      })
    )
  )
})

describe.concurrent("a stop has its outcome, and its sentence", { timeout: 90_000 }, () => {
  it.live("Stopped, and NotRunning after it", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { pid } = yield* kit.client.launch()
        assert.deepStrictEqual(yield* kit.client.stop(), { _tag: "Stopped", pid, sentence: "Fixture stopped." })
        assert.deepStrictEqual(yield* kit.client.stop(), {
          _tag: "NotRunning",
          sentence: "Fixture is not running."
        })
      })
    )
  )

  it.live("Stopped, in words for an owner that did not do what it had agreed to", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { pid } = yield* oddOwner(kit, "stays")
        assert.deepStrictEqual(yield* kit.client.stop(), {
          _tag: "Stopped",
          pid,
          sentence: "Fixture did not respond and was stopped."
        })
        assert.deepStrictEqual(signals(kit), ["SIGTERM"])
      })
    )
  )

  it.live("Unidentified", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { pid } = yield* oddOwner(kit, "not-found")
        fs.rmSync(kit.paths.owner)
        assert.deepStrictEqual(yield* kit.client.stop(), {
          _tag: "Unidentified",
          pid,
          sentence: "Fixture does not answer, and no process could be identified as it. Nothing was stopped."
        })
        assert.deepStrictEqual(signals(kit), [])
      })
    )
  )

  it.live.skipIf(!may.becomeNobody)("Refused, when the process is another user's (needs setpriv)", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { pid } = yield* oddOwner(kit, "not-found")
        const { directory } = kit.paths
        fs.chmodSync(path.dirname(directory), 0o755)
        for (const file of [directory, ...fs.readdirSync(directory).map((name) => path.join(directory, name))])
          fs.chownSync(file, one, one)
        const said = yield* clientSays("stop", directory, { before: yield* kit.otherUser(one) })
        assert.deepStrictEqual(
          said.value,
          { _tag: "Refused", sentence: `The system did not let Fixture (PID ${pid}) be stopped.`, pid },
          said.output
        )
      })
    )
  )
})
