import { assert, describe, it } from "@effect/vitest"
import { unless } from "@holdfast/testkit/Capability"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { service } from "./commandLine.ts"
import { runtimes } from "./runtimes.ts"
import { isReady, withKit } from "./withKit.ts"

const { skip, suffix } = unless("fullDisk")

type Kit = Testkit["Service"]

const filesIn = (directory: string): ReadonlyArray<string> =>
  fs.existsSync(directory)
    ? fs
        .readdirSync(directory, { recursive: true, withFileTypes: true })
        .flatMap((entry) => (entry.isFile() ? [path.join(entry.parentPath, entry.name)] : []))
    : []

/** An owner whose environment names no cache. */
const started = (kit: Kit, runtime?: string) =>
  Effect.gen(function* () {
    const spec = { ...kit.spec, environment: [] }
    const [owner] = yield* kit.swarm(1, { spec, ...(runtime === undefined ? {} : { runtime }) })
    yield* isReady(kit)
    return owner!
  })

/** What it writes after it was ready comes last, or never. */
const aSecondLater = (kit: Kit) => {
  const from = performance.now()
  return kit.eventually(
    "a second and a half has passed",
    () => performance.now() - from,
    (ms) => ms > 1500
  )
}

describe.concurrent("the compiled code of a service's program", () => {
  for (const { name, path: runtime } of runtimes.filter((one) => one.name !== "Bun")) {
    it.live.skipIf(runtime === undefined)(
      `under ${name} is kept for the next start, where nobody else may read or write, also when the owner is killed${runtime === undefined ? ` (${name} is not installed: npm run runtimes)` : ""}`,
      () =>
        withKit({}, (kit) =>
          Effect.gen(function* () {
            const owner = yield* started(kit, runtime)
            yield* kit.eventually(
              "it was written",
              () => filesIn(kit.paths.cache).length,
              (count) => count > 5
            )
            assert.strictEqual(fs.statSync(kit.paths.cache).mode & 0o777, 0o700)
            yield* owner.kill
          })
        )
    )
  }

  it.live("is not taken from a place that others may enter, or from behind a link", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        fs.mkdirSync(kit.paths.cache, { mode: 0o700 })
        fs.chmodSync(kit.paths.cache, 0o750)
        const owner = yield* started(kit)
        yield* aSecondLater(kit)
        assert.isEmpty(filesIn(kit.paths.cache))
        yield* owner.kill
        yield* owner.exited
        fs.rmdirSync(kit.paths.cache)
        const elsewhere = path.join(kit.paths.directory, "elsewhere")
        fs.mkdirSync(elsewhere, { mode: 0o700 })
        fs.symlinkSync(elsewhere, kit.paths.cache)
        yield* started(kit)
        yield* aSecondLater(kit)
        assert.isEmpty(filesIn(elsewhere))
      })
    )
  )

  it.live.skipIf(skip)(`does not take the last of a disk${suffix}`, () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* Effect.flatMap(kit.fullDisk, (disk) => disk.free)
        yield* started(kit)
        yield* aSecondLater(kit)
        assert.isFalse(fs.existsSync(kit.paths.cache))
      })
    )
  )

  it.live("goes with a reset", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* started(kit)
        yield* kit.eventually(
          "it was written",
          () => filesIn(kit.paths.cache).length,
          (count) => count > 5
        )
        yield* kit.client.stop()
        const { code, stdout } = yield* service(kit.paths.directory, ["reset", "--yes"])
        assert.strictEqual(code, 0, stdout)
        assert.isFalse(fs.existsSync(kit.paths.cache))
      })
    )
  )
})
