import { assert, describe, it } from "@effect/vitest"
import { unless } from "@holdfast/testkit/Capability"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as fs from "node:fs"
import { boots, isReady, withKit } from "./withKit.ts"

const { skip, suffix } = unless("fullDisk")

/** Locks are empty by nature, and an empty database is one that nothing was written to yet. */
const mayBeEmpty = ["service.lock", "service.spawn.lock", "service.lease.db"]

const halfWritten = (kit: Testkit["Service"]) =>
  fs
    .readdirSync(kit.paths.directory)
    .filter(
      (name) =>
        name.endsWith(".tmp") ||
        (!mayBeEmpty.includes(name) && fs.statSync(`${kit.paths.directory}/${name}`).size === 0)
    )

describe.concurrent("a full disk", () => {
  it.live.skipIf(skip)(
    `under a running owner: it serves on, keeps its place, leaves nothing half-written, and heals its records when there is space again${suffix}`,
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const disk = yield* kit.fullDisk
          yield* disk.free
          const before = yield* kit.client.ensure()
          yield* disk.fill
          fs.rmSync(kit.paths.registration)
          yield* disk.fill
          assert.strictEqual(yield* (yield* kit.client.http.get("/hello")).text, `hello from ${before.pid}`)
          const [contender] = yield* kit.swarm(1)
          assert.deepStrictEqual(yield* contender!.exited, { code: 0 })
          // two assertion intervals without a byte to spare
          const since = performance.now()
          yield* kit.eventually(
            "two assertion intervals are over",
            () => performance.now() - since > 11_000,
            (over) => over,
            { within: "20 seconds" }
          )
          assert.isFalse(fs.existsSync(kit.paths.registration))
          assert.deepStrictEqual(halfWritten(kit), [])
          assert.strictEqual(yield* (yield* kit.client.http.get("/hello")).text, `hello from ${before.pid}`)
          yield* disk.free
          assert.strictEqual((yield* isReady(kit)).registration?.instanceID, before.instanceID)
          assert.lengthOf(boots(kit), 1)
          assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
        })
      ),
    60_000
  )

  it.live.skipIf(skip)(
    `at the start: an error that says so and what to do, again and again without leaving anything, until there is space${suffix}`,
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const disk = yield* kit.fullDisk
          yield* disk.free
          yield* kit.client.ensure()
          yield* kit.client.stop()
          for (const lost of [[], [kit.paths.lease], [kit.paths.secret], [kit.paths.lease, kit.paths.secret]]) {
            for (const file of lost) fs.rmSync(file)
            yield* disk.fill
            const files = [
              ...fs.readdirSync(kit.paths.directory),
              ...(lost.includes(kit.paths.lease) ? ["service.lease.db"] : [])
            ]
            for (let tries = 0; tries < 3; tries++) {
              const error = yield* Effect.flip(kit.client.ensure({ deadline: "4 seconds" }))
              assert.include(`${error.message} ${error.action}`, "space", `without ${lost}`)
            }
            assert.deepStrictEqual(halfWritten(kit), [], `without ${lost}`)
            assert.deepStrictEqual(fs.readdirSync(kit.paths.directory).sort(), files.sort())
            yield* disk.free
            const ready = yield* kit.client.ensure()
            assert.strictEqual((yield* isReady(kit)).registration?.pid, ready.pid)
            yield* kit.client.stop()
          }
        })
      ),
    60_000
  )
})
