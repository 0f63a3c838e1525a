import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { boots, isReady, withKit } from "./withKit.ts"

/** Debian's libfaketime, which `.ci/run` installs. */
const library = ["x86_64-linux-gnu", "aarch64-linux-gnu"]
  .map((triple) => `/usr/lib/${triple}/faketime/libfaketimeMT.so.1`)
  .find((file) => fs.existsSync(file))

const hour = 3_600_000

const expiryIn = (file: string): number => {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 2000 })
  try {
    const { holder } = database.prepare("SELECT holder FROM lease").get() as { readonly holder: string }
    return (JSON.parse(holder) as { readonly expiresAt: number }).expiresAt
  } finally {
    database.close()
  }
}

describe("the wall clock", () => {
  it.live.skipIf(library === undefined)(
    `jumps by one hour and by eight, forth and back, while the service runs: nothing is lost and nobody takes over${library === undefined ? " (needs libfaketime)" : ""}`,
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const offset = path.join(path.dirname(kit.paths.directory), "offset")
          const setHours = (hours: number) => {
            fs.writeFileSync(`${offset}.new`, `${hours < 0 ? "-" : "+"}${Math.abs(hours)}h\n`)
            fs.renameSync(`${offset}.new`, offset)
          }
          setHours(0)
          const [owner] = yield* kit.swarm(1, {
            environment: {
              LD_PRELOAD: library!,
              FAKETIME_TIMESTAMP_FILE: offset,
              FAKETIME_NO_CACHE: "1",
              FAKETIME_DONT_FAKE_MONOTONIC: "1"
            }
          })
          const before = yield* isReady(kit)
          assert.strictEqual(before.registration?.pid, owner!.pid)
          for (const hours of [1, 0, -1, 0, 8, 0, -8]) {
            setHours(hours)
            const [contender] = yield* kit.swarm(1)
            assert.deepStrictEqual(yield* contender!.exited, { code: 0 }, `${hours} h`)
            yield* kit.eventually(
              `the lease is renewed by a clock of ${hours} h`,
              () => (expiryIn(kit.paths.lease) - Date.now()) / hour,
              (ahead) => Math.abs(ahead - hours) < 0.1,
              { within: "20 seconds" }
            )
            assert.deepStrictEqual(yield* kit.client.state, before, `${hours} h`)
            assert.strictEqual((yield* kit.client.ensure()).pid, owner!.pid, `${hours} h`)
          }
          assert.deepStrictEqual(boots(kit), [owner!.pid])
        })
      ),
    180_000
  )
})
