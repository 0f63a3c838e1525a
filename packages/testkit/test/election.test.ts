import { assert, describe, it } from "@effect/vitest"
import { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { fixture, setKnobs } from "./fixture/service.ts"

const bootsIn = (directory: string): ReadonlyArray<string> => {
  const file = path.join(directory, "boots")
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n") : []
}

const withKit = <A, E>(test: (kit: Testkit["Service"]) => Effect.Effect<A, E, import("effect/Scope").Scope>) =>
  Effect.flatMap(Testkit, test).pipe(Effect.scoped, Effect.provide(Testkit.layer(fixture)))

describe("election", () => {
  it.live("ten contenders start simultaneously: exactly one crosses the application-boot boundary", () =>
    withKit((kit) =>
      Effect.gen(function* () {
        const members = yield* kit.swarm(10)
        const owner = yield* kit.owner
        const losers = members.filter(({ pid }) => pid !== owner.pid)
        const ended = yield* Effect.forEach(losers, (loser) => loser.exited, { concurrency: "unbounded" }).pipe(
          Effect.timeout("2 seconds")
        )
        assert.deepStrictEqual(
          ended,
          Array.from({ length: 9 }, () => ({ code: 0 }))
        )
        yield* kit.waitFor("the owner is ready", (state) => state.status.type === "ready")
        assert.deepStrictEqual(bootsIn(kit.paths.directory), [String(owner.pid)])
        for (const loser of losers) {
          const loaded = kit.loaded(loser)
          assert.isNotEmpty(loaded)
          assert.isEmpty(loaded.filter((url) => /node_modules\/effect\/|application\.ts$/.test(url)))
        }
        assert.isNotEmpty(kit.loaded(owner).filter((url) => /node_modules\/effect\//.test(url)))
      })
    )
  )
  it.live("kill -9", () =>
    withKit((kit) =>
      Effect.gen(function* () {
        setKnobs(kit.paths.directory, {})
        yield* kit.swarm(2)
        const owner = yield* kit.owner
        yield* owner.kill
        yield* owner.exited
      })
    )
  )
})
