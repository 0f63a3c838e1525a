import { assert, describe, it } from "@effect/vitest"
import { chaos, plan, type Planned } from "@holdfast/testkit/Chaos"
import { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import { pathToFileURL } from "node:url"
import { programOf } from "./fixture/programs.ts"
import { fixture, setKnobs } from "./fixture/service.ts"
import { withPictures } from "./pictures.ts"

const seconds = 20
const minutes = seconds / 60
const seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

const far = (moves: ReadonlyArray<Planned>, file: "lock" | "lease") =>
  moves.flatMap((one) => (one._tag === "Lose" && one.file === file ? [one.at] : []))

describe("a plan", () => {
  it.effect("is the same for the same seed, another for another, and a longer one begins like a shorter one", () =>
    Effect.gen(function* () {
      const [one, again, longer, other] = yield* Effect.all([
        plan({ seed: 1, minutes: 1 }),
        plan({ seed: 1, minutes: 1 }),
        plan({ seed: 1, minutes: 3 }),
        plan({ seed: 2, minutes: 1 })
      ])
      assert.deepStrictEqual(one, again)
      assert.deepStrictEqual(longer.slice(0, one.length), one)
      assert.notDeepEqual(one, other)
    })
  )

  it.effect("comes to every kind of move in five minutes, in order of time", () =>
    Effect.gen(function* () {
      for (const seed of seeds) {
        const moves = yield* plan({ seed, minutes: 5 })
        const kinds = new Set(moves.map(({ _tag }) => _tag))
        assert.strictEqual(kinds.size, 9, [...kinds].join(" "))
        assert.deepStrictEqual(
          moves.map(({ at }) => at),
          moves.map(({ at }) => at).toSorted((a, b) => a - b)
        )
        assert.isBelow(moves.at(-1)!.at, 5 * 60_000)
      }
    })
  )

  it.effect("never takes away lock and lease within ten seconds", () =>
    Effect.gen(function* () {
      for (let seed = 0; seed < 50; seed++) {
        const moves = yield* plan({ seed, minutes: 10 })
        const [locks, leases] = [far(moves, "lock"), far(moves, "lease")]
        assert.isNotEmpty([...locks, ...leases])
        for (const lock of locks) for (const lease of leases) assert.isAtLeast(Math.abs(lock - lease), 10_000)
      }
    })
  )
})

describe.concurrent(`${seconds} s of chaos break no law`, () => {
  for (const seed of seeds) {
    it.live(
      `with seed ${seed}`,
      () => chaos({ seed, minutes }).pipe(Effect.provide(Testkit.layer(fixture, { title: `chaos with seed ${seed}` }))),
      120_000
    )
  }
})

describe.concurrent("chaos notices", () => {
  for (const [breaks, law] of [
    // a loser that boots: whichever is seen first
    ["boots without the lock", "(1|3)"],
    ["kills the owner", "4"],
    ["leaves a process behind", "8"]
  ] as const) {
    it.live(
      `a service that ${breaks}, and names the law and the seed`,
      () =>
        withPictures((timelines) =>
          Effect.gen(function* () {
            const kit = yield* Testkit
            setKnobs(kit.paths.directory, { breaks })
            const { action, message } = yield* Effect.flip(chaos({ seed: 10, minutes: 0.1 }))
            assert.match(message, new RegExp(`^Law ${law} is broken: .*\\(seed 10; \\d+ moves: swarm`))
            assert.include(action, "chaos({ seed: 10 })")
          }).pipe(
            Effect.provide(Testkit.layer({ ...fixture, entry: pathToFileURL(programOf("lawless")) }, { timelines })),
            // what it leaves behind is ended, and told: here that is no news
            Effect.catchDefect((defect) => (breaks === "leaves a process behind" ? Effect.void : Effect.die(defect)))
          )
        ),
      90_000
    )
  }
})
