/** What the testkit sees and does, on real processes. */
import { assert, describe, it } from "@effect/vitest"
import { signal } from "@holdfast/lock/identity"
import { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { fixture } from "./fixture/service.ts"
import { withPictures } from "./pictures.ts"
import { runtimes } from "./runtimes.ts"
import { isReady, withKit } from "./withKit.ts"

const stepsOf = (kit: Testkit["Service"], pid: number) =>
  kit
    .lives()
    .find((life) => life.pid === pid)
    ?.steps.map(({ step }) => step)

describe.concurrent("the testkit sees", () => {
  it.live("what a process comes to, whoever started it: the test, or a client", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { pid } = yield* kit.client.ensure()
        const [loser] = yield* kit.swarm(1)
        assert.deepStrictEqual(yield* loser!.exited, { code: 0 })
        const [first, second] = kit.lives()
        assert.deepInclude(first, { pid, role: "contender", to: undefined, code: undefined })
        assert.deepInclude(second, { pid: loser!.pid, role: "swarm", code: 0 })
        assert.deepStrictEqual(
          first!.steps.map(({ step }) => step).filter((step) => step !== "at-rename"),
          [
            "before-lock",
            "after-lock",
            "before-bind",
            "after-bind",
            "before-register",
            "after-register",
            "during-boot",
            "ready"
          ]
        )
        assert.deepStrictEqual(stepsOf(kit, loser!.pid), ["before-lock"])
        assert.isAbove(second!.peakRssBytes!, 10_000_000)
        assert.isAbove(second!.modules.length, 0)
        assert.isAbove(second!.to!, second!.from)
      })
    )
  )

  it.live("who holds the lock, and which epoch the lease has", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        assert.isUndefined(yield* kit.holder)
        assert.isUndefined(kit.epochs().lease)
        const [first] = yield* kit.swarm(1)
        yield* isReady(kit)
        assert.strictEqual((yield* kit.holder)?.pid, first!.pid)
        assert.strictEqual(kit.epochs().lease, 1)
        yield* first!.kill
        yield* first!.exited
        assert.isUndefined(yield* kit.holder)
        const [second] = yield* kit.swarm(1)
        yield* isReady(kit)
        assert.strictEqual(kit.epochs().lease, 2)
        const holders = yield* kit.eventually(
          "it was seen that the second one holds it",
          () => kit.samples().map(({ holder }) => holder),
          (seen) => seen.at(-1) === second!.pid
        )
        assert.include(holders, first!.pid)
      })
    )
  )

  it.live("the statuses that each client saw, in its lane", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const clients = yield* Effect.forEach(["one", "two"], (name) => kit.follow(name, { access: "launch" }))
        yield* Effect.forEach(clients, (client) => client.reconnect(), { concurrency: 2 })
        yield* kit.eventually(
          "both have seen that it is ready",
          () =>
            kit
              .timeline()
              .happenings.flatMap((one) => (one._tag === "Seen" && one.status === "ready" ? [one.client] : [])),
          (ready) => new Set(ready).size === 2
        )
      })
    )
  )

  for (const { name, path: runtime } of runtimes) {
    it.live.skipIf(runtime === undefined)(
      `what a member under ${name} comes to, and its end${runtime === undefined ? ` (${name} is not installed: npm run runtimes)` : ""}`,
      () =>
        withKit({}, (kit) =>
          Effect.gen(function* () {
            const options = { runtime: runtime! }
            const [owner] = yield* kit.swarm(1, options)
            yield* isReady(kit)
            const [loser] = yield* kit.swarm(1, options)
            assert.deepStrictEqual(yield* loser!.exited, { code: 0 })
            assert.isTrue(stepsOf(kit, owner!.pid)?.includes("ready"))
            assert.deepStrictEqual(stepsOf(kit, loser!.pid), ["before-lock"])
            for (const { at } of kit.lives().flatMap(({ steps }) => steps)) assert.isBelow(at, kit.elapsed() + 1)
          })
        )
    )
  }
})

describe.concurrent("the testkit", () => {
  it.live("kills everybody that comes to a step, also whom a client starts, until it is told not to", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* kit.crashAt("after-bind")
        const client = yield* kit.follow("a client", { access: "launch" })
        yield* Effect.forkScoped(client.reconnect())
        yield* kit.eventually(
          "two of its contenders have crashed there",
          () => kit.lives().filter(({ ordered, to }) => to !== undefined && ordered.length === 1).length,
          (count) => count >= 2
        )
        yield* kit.crashAt(undefined)
        yield* isReady(kit)
        const crashed = kit.lives().filter(({ ordered }) => ordered.length > 0)
        assert.isTrue(crashed.every(({ steps }) => steps.at(-1)!.step === "after-bind"))
      })
    )
  )

  it.live("freezes a member exactly at a step, and thaws it", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const [owner] = yield* kit.swarm(1)
        yield* isReady(kit)
        yield* owner!.freezeAt("during-drain")
        yield* owner!.signal("SIGTERM")
        yield* kit.eventually(
          "it stands still in its drain",
          () => fs.readFileSync(`/proc/${owner!.pid}/stat`, "utf8").split(") ")[1]![0],
          (state) => state === "T"
        )
        assert.strictEqual(stepsOf(kit, owner!.pid)?.at(-1), "during-drain")
        yield* owner!.thaw
        assert.deepStrictEqual(yield* owner!.exited, { code: 0 })
      })
    )
  )

  it.live("freezes, thaws and kills a member's whole group, its children too", () =>
    withKit({ children: true }, (kit) =>
      Effect.gen(function* () {
        const [owner] = yield* kit.swarm(1)
        yield* isReady(kit)
        const inGroup = () =>
          kit.processes().flatMap(({ command, pid }) => {
            const [, state, , group] = /\) (\S) (\d+) (\d+)/.exec(fs.readFileSync(`/proc/${pid}/stat`, "utf8")) ?? []
            return Number(group) === owner!.pid ? [`${state} ${command.split(" ")[0]}`] : []
          })
        assert.isAtLeast(inGroup().length, 3)
        yield* owner!.group.freeze
        yield* kit.eventually("all stand still", inGroup, (all) => all.every((one) => one.startsWith("T")))
        yield* owner!.group.thaw
        yield* kit.eventually("all go on", inGroup, (all) => all.every((one) => !one.startsWith("T")))
        yield* owner!.group.kill
        yield* kit.eventually("all are gone", inGroup, (all) => all.length === 0)
        // the child that has a group of its own
        for (const { identity } of kit.processes()) signal(identity, "SIGKILL")
      })
    )
  )
})

describe.concurrent("a test's timeline", () => {
  const written = (fails: boolean) =>
    withPictures((timelines) =>
      Effect.gen(function* () {
        const kit = yield* Testkit
        yield* kit.swarm(1)
        yield* isReady(kit)
        if (!fails) return
        const weather = () => "sun"
        yield* kit.eventually("it rains", weather, (seen) => seen === "rain", { within: "100 millis" })
      }).pipe(
        Effect.scoped,
        Effect.provide(Testkit.layer(fixture, { timelines, title: "Rain & <sun>" })),
        Effect.exit,
        Effect.map((exit) => ({
          exit,
          pictures: fs.readdirSync(timelines).map((name) => fs.readFileSync(path.join(timelines, name), "utf8"))
        }))
      )
    )

  it.live("is written by a test that fails, with what it waited for, and by no other", () =>
    Effect.gen(function* () {
      const good = yield* written(false)
      assert.strictEqual(good.exit._tag, "Success")
      assert.isEmpty(good.pictures)
      const bad = yield* written(true)
      assert.strictEqual(bad.exit._tag, "Failure")
      assert.lengthOf(bad.pictures, 1)
      assert.include(bad.pictures[0], "Rain &amp; &lt;sun&gt;")
      assert.include(bad.pictures[0], "Waited too long until it rains")
    })
  )

  it.live("stands in the failure as text, with the log's end, the records and where the picture is", () =>
    Effect.gen(function* () {
      const { exit } = yield* written(true)
      const text = JSON.stringify(exit)
      for (const part of [
        "Waited too long until it rains",
        "INFO starting fixture",
        "registration: {",
        "owner note: {",
        "picture: "
      ]) {
        assert.include(text, part.replaceAll('"', '\\"'))
      }
    })
  )
})
