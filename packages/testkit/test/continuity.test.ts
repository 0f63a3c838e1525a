import { assert, describe, it } from "@effect/vitest"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { type Knobs, setKnobs } from "./fixture/service.ts"
import { boots, withKit } from "./withKit.ts"

type Kit = Testkit["Service"]

const handOver = { sessions: ["a", "b"] }

/** What successors were given, in order. */
const resumed = (kit: Kit) => {
  const file = `${kit.paths.directory}/resumed`
  const lines = fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n") : []
  return lines.map(
    (line) =>
      JSON.parse(line) as { readonly pid: number; readonly epoch: number; readonly sessions: ReadonlyArray<string> }
  )
}
const stored = (kit: Kit) =>
  fs.existsSync(kit.paths.continuity)
    ? (JSON.parse(fs.readFileSync(kit.paths.continuity, "utf8")) as Record<string, unknown>)
    : undefined
/** The snapshot and whatever is beside it. */
const files = (kit: Kit) => fs.readdirSync(kit.paths.directory).filter((name) => name.includes("continuity"))
const aside = ["service.continuity.json.set-aside"]
const log = (kit: Kit) => fs.readFileSync(kit.paths.log, "utf8")

const launchAs = (kit: Kit, version: string) =>
  Effect.flatMap(ServiceClient, (client) => client.launch()).pipe(
    Effect.provide(Layer.fresh(ServiceClient.layer({ ...kit.spec, version })))
  )

/** What another owner, a disk or a person may have left there. */
const written = (kit: Kit, change: Record<string, unknown>) =>
  fs.writeFileSync(
    kit.paths.continuity,
    JSON.stringify({ schema: 1, epoch: 0, version: "1.0.0", offers: 0, value: handOver, ...change })
  )

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const before = performance.now()
    return Effect.map(effect, (value) => [value, performance.now() - before] as const)
  })

describe.concurrent("continuity", () => {
  it.live("what a graceful stop leaves is private, goes to the next owner before ready, and is gone after ready", () =>
    withKit({ handOver }, (kit) =>
      Effect.gen(function* () {
        yield* kit.client.launch()
        assert.deepStrictEqual([files(kit), resumed(kit)], [[], []])
        yield* kit.client.stop()
        assert.deepStrictEqual(stored(kit), { schema: 1, epoch: 1, version: "1.0.0", offers: 0, value: handOver })
        assert.strictEqual(fs.statSync(kit.paths.continuity).mode & 0o777, 0o600)
        const next = yield* kit.client.launch()
        assert.deepStrictEqual(resumed(kit), [{ pid: next.pid, epoch: 2, ...handOver }])
        assert.deepStrictEqual(files(kit), [])
      })
    )
  )

  it.live("it goes across an update: a launch of vNext stops the old version, and the new one has it", () =>
    withKit({ handOver }, (kit) =>
      Effect.gen(function* () {
        yield* kit.client.launch()
        setKnobs(kit.paths.directory, { handOver, version: "2.0.0" })
        const next = yield* launchAs(kit, "2.0.0")
        assert.strictEqual(next.version, "2.0.0")
        assert.deepStrictEqual(resumed(kit), [{ pid: next.pid, epoch: 2, ...handOver }])
        assert.deepStrictEqual(files(kit), [])
      })
    )
  )

  it.live("a crash leaves none", () =>
    withKit({ handOver }, (kit) =>
      Effect.gen(function* () {
        yield* kit.client.launch()
        const owner = yield* kit.owner
        yield* owner.kill
        yield* owner.exited
        assert.deepStrictEqual(files(kit), [])
        yield* kit.client.ensure()
        assert.deepStrictEqual(resumed(kit), [])
      })
    )
  )

  it.live("a successor that crashes while it resumes is offered it twice; then it is kept aside and it starts", () =>
    withKit({ handOver, resume: "crash" }, (kit) =>
      Effect.gen(function* () {
        yield* kit.client.launch()
        yield* kit.client.stop()
        const next = yield* kit.client.reconnect()
        const [first, second, ...more] = resumed(kit)
        assert.deepStrictEqual([first?.sessions, second?.sessions, more], [handOver.sessions, handOver.sessions, []])
        assert.strictEqual(new Set([first!.pid, second!.pid, next.pid]).size, 3)
        assert.deepStrictEqual(files(kit), aside)
        assert.include(log(kit), "it was offered 2 times and never taken over")
      })
    )
  )

  it.live("a resume that dies costs what was handed over, not the start", () =>
    withKit({ handOver, resume: "die" }, (kit) =>
      Effect.gen(function* () {
        yield* kit.client.launch()
        yield* kit.client.stop()
        yield* kit.client.launch()
        assert.strictEqual(resumed(kit).length, 1)
        assert.deepStrictEqual(files(kit), aside)
        assert.include(log(kit), "cannot resume")
      })
    )
  )

  it.live(
    "what cannot be used is named in the log and kept aside, the latest only; the service is ready",
    () =>
      withKit({ handOver }, (kit) =>
        Effect.gen(function* () {
          const harms: ReadonlyArray<readonly [string, () => void, string]> = [
            ["garbage", () => fs.writeFileSync(kit.paths.continuity, "{ garb"), "it is none, or of another kind"],
            ["nothing at all", () => fs.writeFileSync(kit.paths.continuity, ""), "it is none, or of another kind"],
            ["another schema", () => written(kit, { schema: 2 }), "it is none, or of another kind"],
            ["a value of another shape", () => written(kit, { value: { sessions: "a" } }), "it does not decode"],
            ["too large", () => written(kit, { more: "x".repeat(2_000_000) }), "it cannot be read: EFBIG"],
            ["of this very owner's epoch", () => written(kit, { epoch: 6 }), "it is from owner 6, and this is owner 6"],
            ["of a later owner", () => written(kit, { epoch: 99 }), "it is from owner 99"],
            ["a directory", () => fs.mkdirSync(kit.paths.continuity), "it cannot be read: EISDIR"],
            ["garbage again", () => fs.writeFileSync(kit.paths.continuity, "again"), "it is none, or of another kind"]
          ]
          for (const [what, harm, why] of harms) {
            fs.rmSync(kit.paths.log, { force: true })
            harm()
            yield* kit.client.launch()
            assert.include(log(kit), `not taken over: ${why}`, what)
            assert.deepStrictEqual([files(kit), resumed(kit)], [aside, []], what)
            yield* kit.client.stop()
            fs.rmSync(kit.paths.continuity)
          }
          assert.strictEqual(fs.readFileSync(`${kit.paths.continuity}.set-aside`, "utf8"), "again")
        })
      ),
    60_000
  )

  it.live("an application without continuity leaves nothing, and keeps aside what it does not take", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        written(kit, {})
        yield* kit.client.launch()
        assert.deepStrictEqual(files(kit), aside)
        yield* kit.client.stop()
        assert.deepStrictEqual(files(kit), aside)
      })
    )
  )

  it.live("a stop while starting writes none, and what was being offered is still there for the next", () =>
    withKit({ handOver }, (kit) =>
      Effect.gen(function* () {
        yield* kit.client.launch()
        yield* kit.client.stop()
        const before = stored(kit)
        const stopWhile = (knobs: Knobs, booted: () => boolean) =>
          Effect.gen(function* () {
            setKnobs(kit.paths.directory, { handOver: { sessions: ["other"] }, ...knobs })
            const [starting] = yield* kit.swarm(1)
            yield* kit.eventually("it is as far", booted, (far) => far)
            yield* kit.client.stop()
            assert.deepStrictEqual(yield* starting!.exited, { code: 0 })
          })
        yield* stopWhile({ bootMs: 60_000 }, () => boots(kit).length === 2)
        assert.deepStrictEqual(stored(kit), before)
        yield* stopWhile({ resume: "hang" }, () => resumed(kit).length === 1)
        assert.deepStrictEqual(stored(kit), { ...before, offers: 1 })
        setKnobs(kit.paths.directory, { handOver })
        yield* kit.client.launch()
        assert.deepStrictEqual(resumed(kit)[1]?.sessions, handOver.sessions)
        assert.deepStrictEqual(files(kit), [])
      })
    )
  )

  for (const [how, why] of [
    ["hang", "the snapshot took too long"],
    ["hang-uninterruptibly", "the snapshot took too long"],
    ["die", "no sessions to be had"],
    ["huge", "the snapshot is larger than 1048576 bytes"]
  ] as const) {
    it.live(`a snapshot that is ${how}: the stop takes no longer than drain and a second, and none is written`, () =>
      withKit({ handOver: how }, (kit) =>
        Effect.gen(function* () {
          yield* kit.client.launch()
          const owner = yield* kit.owner
          const [, ms] = yield* timed(Effect.andThen(kit.client.stop(), owner.exited))
          assert.isBelow(ms, 2000)
          assert.deepStrictEqual(files(kit), [])
          assert.include(log(kit), why)
          assert.include(log(kit), "stopped")
        })
      )
    )
  }

  it.live(
    "an owner that was superseded writes none",
    () =>
      withKit({ handOver }, (kit) =>
        Effect.gen(function* () {
          yield* kit.client.launch()
          const owner = yield* kit.owner
          const database = new DatabaseSync(kit.paths.lease, { timeout: 2000 })
          const { holder } = database.prepare("SELECT holder FROM lease").get() as { readonly holder: string }
          const successor = JSON.stringify({ ...JSON.parse(holder), instanceID: "successor", pid: process.pid })
          database.prepare("UPDATE lease SET epoch = 2, holder = ?").run(successor)
          database.close()
          yield* kit.eventually(
            "it notices at its next renewal",
            () => log(kit),
            (text) => text.includes("claim superseded"),
            { within: "15 seconds" }
          )
          yield* owner.exited
          assert.deepStrictEqual(files(kit), [])
        })
      ),
    30_000
  )
})
