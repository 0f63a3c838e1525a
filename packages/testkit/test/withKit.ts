import { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, type Scope } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { type Knobs, serviceOf, setKnobs } from "./fixture/service.ts"

/** A test with the fixture as `knobs` make it, in a directory of its own. */
export const withKit = <A, E>(
  knobs: Knobs,
  test: (kit: Testkit["Service"]) => Effect.Effect<A, E, Scope.Scope>
): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    const kit = yield* Testkit
    setKnobs(kit.paths.directory, knobs)
    return yield* test(kit)
  }).pipe(Effect.scoped, Effect.provide(Testkit.layer(serviceOf(knobs))))

/** The pids that came to the application-boot marker. */
export const boots = (kit: Testkit["Service"]): ReadonlyArray<number> => {
  const file = path.join(kit.paths.directory, "boots")
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n").map(Number) : []
}

export const isReady = (kit: Testkit["Service"]) => kit.waitFor("it is ready", (state) => state.status.type === "ready")

/** A service that ran and was killed, with all that it leaves. */
export const killed = (kit: Testkit["Service"]) =>
  Effect.gen(function* () {
    yield* kit.client.ensure()
    const owner = yield* kit.owner
    yield* owner.kill
    yield* kit.eventually("it has ended", kit.processes, (left) => left.length === 0)
  })
