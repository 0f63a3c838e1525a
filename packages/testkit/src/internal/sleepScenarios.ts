/** The failure that the wake plan observed, link by link. */
import * as Effect from "effect/Effect"
import * as Capability from "../Capability.ts"
import type { Scenario } from "../Scenario.ts"
import { twoAtOnce } from "./judgements.ts"
import { expect, hasEnded, hold, isReady, type Kit, lifeOf } from "./law.ts"
import { textOf } from "./marks.ts"
import { attached, followers, scenario, seenBy } from "./scenario.ts"

/** The machine sleeps: the processes stand still, and where a clock can be moved it is hours later when they go on. */
const night = (kit: Kit, frozen: { readonly freeze: Effect.Effect<void>; readonly thaw: Effect.Effect<void> }) =>
  Effect.gen(function* () {
    yield* frozen.freeze
    if (Capability.against("clockJump") === undefined) yield* kit.clockJump("8 hours").pipe(Effect.ignore)
    yield* Effect.sleep("2 seconds")
    yield* frozen.thaw
  })

const wake = scenario(
  {
    name: "wake-chain",
    sentence:
      "The machine sleeps longer than the lease, again and again: the same owner serves on, and nobody is warned",
    source: "wake-recovery-plan.md, Observed failure 1, 3 and 4"
  },
  (kit) =>
    Effect.gen(function* () {
      const environment = yield* kit.clockEnvironment.pipe(Effect.catch(() => Effect.succeed({})))
      const [owner] = yield* kit.swarm(1, { environment })
      yield* isReady(kit)
      const clients = yield* followers(kit, 3)
      const first = yield* attached(clients)
      for (const _ of [1, 2, 3]) {
        yield* night(kit, owner!)
        const again = yield* attached(clients)
        yield* expect(again.instanceID === first.instanceID, "another instance owns the service after a sleep")
      }
      yield* expect(lifeOf(kit, owner!.pid)?.to === undefined, "the server ended itself on waking")
      const warnings = textOf(kit.paths.log).match(/already running|superseded|claim lost/gi) ?? []
      yield* expect(warnings.length === 0, `the log says ${warnings.join(", ")}`)
      for (const name of ["client 1", "client 2", "client 3"]) {
        const readies = seenBy(kit, name).filter((status) => status === "ready").length
        yield* expect(readies <= 1 + 3, `${name} reconnected ${readies - 1} times in three sleeps`)
      }
    })
)

const midShutdown = scenario(
  {
    name: "asleep-in-the-middle-of-a-shutdown",
    sentence:
      "An owner falls asleep in its own shutdown, deaf and holding the lock: awake it is gone at once, and one successor serves all",
    source: "wake-recovery-plan.md, Observed failure 2 and 3"
  },
  (kit) =>
    Effect.gen(function* () {
      const [old] = yield* kit.swarm(1)
      yield* isReady(kit)
      const clients = yield* followers(kit, 3)
      yield* attached(clients)
      yield* old!.freezeAt("during-drain")
      yield* old!.signal("SIGTERM")
      yield* kit.eventually(
        "it sleeps in its shutdown",
        () => lifeOf(kit, old!.pid)?.ordered.length,
        (times) => times === 1
      )
      yield* Effect.sleep("2 seconds")
      yield* old!.thaw
      yield* hasEnded(kit, old!.pid)
      const next = yield* attached(clients)
      yield* expect(next.pid !== old!.pid, "the clients are attached to the old server")
      yield* hold(twoAtOnce(kit.lives()))
    })
)

export const sleeps: ReadonlyArray<Scenario> = [wake, midShutdown]
