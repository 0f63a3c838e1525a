import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { race } from "./race.ts"

// 40,000 in `npm run bench -- lock`
const each = 500

describe("race", () => {
  it.live(
    `processes of every runtime that take the lock ${each} times each, and delete the file they hold: never two owners`,
    () =>
      Effect.gen(function* () {
        const racers = yield* race(each, 60_000)
        for (const { failures, runtime, taken, twoOwners } of racers) {
          assert.deepStrictEqual({ failures, taken, twoOwners }, { failures: [], taken: each, twoOwners: 0 }, runtime)
        }
        const refused = racers.reduce((sum, racer) => sum + racer.refused, 0)
        assert.isAbove(refused + (racers.length === 1 ? 1 : 0), 0, "nobody was refused, so nobody raced")
      }),
    90_000
  )
})
