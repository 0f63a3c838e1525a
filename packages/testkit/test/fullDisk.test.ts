import { assert, describe, it } from "@effect/vitest"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { may } from "./elsewhere.ts"
import { boots, isReady, withKit } from "./withKit.ts"

/** A disk of 64 KiB in the state directory's place, as long as the scope is open. */
const smallDisk = (kit: Testkit["Service"]) =>
  Effect.acquireRelease(
    Effect.sync(() => execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k,mode=700", "none", kit.paths.directory])),
    () => Effect.sync(() => execFileSync("umount", ["-l", kit.paths.directory]))
  )

const filler = (kit: Testkit["Service"]) => `${kit.paths.directory}/filler`

const fill = (kit: Testkit["Service"]) => {
  const file = fs.openSync(filler(kit), "w")
  try {
    while (true) fs.writeSync(file, Buffer.alloc(4096))
  } catch (error) {
    assert.strictEqual((error as NodeJS.ErrnoException).code, "ENOSPC")
  } finally {
    fs.closeSync(file)
  }
}

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

describe("a full disk", () => {
  it.live.skipIf(!may.mount)(
    "under a running owner: it serves on, keeps its place, leaves nothing half-written, and heals its records when there is space again (needs mount)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* smallDisk(kit)
          const before = yield* kit.client.ensure()
          fill(kit)
          fs.rmSync(kit.paths.registration)
          fill(kit)
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
          fs.rmSync(filler(kit))
          assert.strictEqual((yield* isReady(kit)).registration?.instanceID, before.instanceID)
          assert.lengthOf(boots(kit), 1)
          assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
        })
      ),
    60_000
  )

  it.live.skipIf(!may.mount)(
    "at the start: an error that says so and what to do, again and again without leaving anything, until there is space (needs mount)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* smallDisk(kit)
          yield* kit.client.ensure()
          yield* kit.client.stop()
          for (const lost of [[], [kit.paths.lease], [kit.paths.secret], [kit.paths.lease, kit.paths.secret]]) {
            for (const file of lost) fs.rmSync(file)
            fill(kit)
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
            fs.rmSync(filler(kit))
            const ready = yield* kit.client.ensure()
            assert.strictEqual((yield* isReady(kit)).registration?.pid, ready.pid)
            yield* kit.client.stop()
          }
        })
      ),
    60_000
  )
})
