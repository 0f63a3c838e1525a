import { assert, describe, it } from "@effect/vitest"
import { unless } from "@holdfast/testkit/Capability"
import { Effect } from "effect"
import { DatabaseSync } from "node:sqlite"
import { boots, isReady, withKit } from "./withKit.ts"

const { skip, suffix } = unless("clockJump")
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
  it.live.skipIf(skip)(
    `jumps by one hour and by eight, forth and back, while the service runs: nothing is lost and nobody takes over${suffix}`,
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const { clockEnvironment, clockJump } = kit
          const [owner] = yield* kit.swarm(1, { environment: yield* clockEnvironment })
          const before = yield* isReady(kit)
          assert.strictEqual(before.registration?.pid, owner!.pid)
          let at = 0
          for (const hours of [1, 0, -1, 0, 8, 0, -8]) {
            yield* clockJump((hours - at) * hour)
            at = hours
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
