/** A herd, and the walkthroughs of *Failure Walkthroughs* in which no update happens. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Scenario } from "../Scenario.ts"
import { losers, reigns, twoAtOnce } from "./judgements.ts"
import { expect, hasEnded, hold, isReady, type Kit, lifeOf } from "./law.ts"
import { attached, followers, scenario } from "./scenario.ts"

/** One application after the other, as many as there should have been. */
const applications = (kit: Kit, count: number) =>
  Effect.gen(function* () {
    const lives = kit.lives()
    const ran = reigns(lives).map(({ pid }) => pid)
    yield* expect(ran.length === count, `${ran.length} processes ran the application: ${ran.join(" ")}`)
    yield* hold(twoAtOnce(lives))
  })

const herd = scenario(
  {
    name: "ten-clients-and-a-crash",
    sentence: "Ten clients start at once and share one service; it is killed, and they share the next one",
    source: "service-lifecycle.md, Acceptance Criteria"
  },
  (kit) =>
    Effect.gen(function* () {
      const clients = yield* followers(kit, 10)
      const first = yield* attached(clients)
      yield* applications(kit, 1)
      const owner = yield* kit.owner
      yield* owner.kill
      yield* hasEnded(kit, first.pid)
      const next = yield* attached(clients)
      yield* expect(next.pid !== first.pid, "the clients are attached to a dead process")
      yield* applications(kit, 2)
    })
)

const ready = scenario(
  {
    name: "crash-while-ready",
    sentence:
      "The server crashes while ready: one contender wins, replaces the stale registration, and all clients go on",
    source: "service-lifecycle.md, Server crashes while ready"
  },
  (kit) =>
    Effect.gen(function* () {
      const clients = yield* followers(kit, 3)
      const first = yield* attached(clients)
      const owner = yield* kit.owner
      yield* owner.kill
      yield* hasEnded(kit, first.pid)
      const next = yield* attached(clients)
      const { registration } = yield* isReady(kit)
      yield* expect(registration?.instanceID === next.instanceID, "the registration is not the new owner's")
      yield* applications(kit, 2)
    })
)

const startup = scenario(
  {
    name: "crash-during-startup",
    sentence: "The winner crashes during startup: its clients stay alive, and another election has one winner",
    source: "service-lifecycle.md, Winner crashes during startup"
  },
  (kit) =>
    Effect.gen(function* () {
      yield* kit.crashAt("during-boot")
      const clients = yield* followers(kit, 3)
      const waiting = yield* attached(clients).pipe(Effect.forkScoped)
      const crashed = yield* kit.eventually(
        "a winner has crashed in its boot",
        () =>
          kit
            .lives()
            .filter(({ to }) => to !== undefined)
            .flatMap(({ pid, steps }) => (steps.some(({ step }) => step === "during-boot") ? [pid] : [])),
        (pids) => pids.length > 0
      )
      yield* kit.crashAt(undefined)
      const { pid } = yield* Fiber.join(waiting)
      yield* expect(!crashed.includes(pid), "the clients are attached to a process that crashed")
      const living = reigns(kit.lives()).filter(({ to }) => to === undefined)
      yield* expect(living.length === 1, `${living.length} processes run the application`)
      yield* hold(twoAtOnce(kit.lives()))
    })
)

const deleted = scenario(
  {
    name: "registration-deleted",
    sentence:
      "The registration is deleted under a healthy owner: every contender leaves, and the owner publishes it again",
    source: "service-lifecycle.md, Registration is deleted while the owner is healthy"
  },
  (kit) =>
    Effect.gen(function* () {
      const clients = yield* followers(kit, 3)
      const first = yield* attached(clients)
      yield* kit.faultFile("registration", "delete")
      const again = yield* attached(clients)
      yield* expect(again.instanceID === first.instanceID, "another instance owns the service")
      const { registration } = yield* isReady(kit)
      yield* expect(registration?.instanceID === first.instanceID, "the owner did not publish itself again")
      yield* applications(kit, 1)
      const lost = losers(kit.lives()).filter(({ to }) => to === undefined)
      yield* kit.eventually(
        "every contender has left",
        () => lost.map(({ pid }) => lifeOf(kit, pid)?.to),
        (ends) => ends.every((to) => to !== undefined)
      )
    })
)

const unresponsive = scenario(
  {
    name: "unresponsive-owner",
    sentence:
      "The owner is alive but unresponsive: clients wait and say what to do, nobody kills it, and a restart does",
    source: "service-lifecycle.md, Owner is alive but unresponsive"
  },
  (kit) =>
    Effect.gen(function* () {
      const clients = yield* followers(kit, 2)
      const first = yield* attached(clients)
      const owner = yield* kit.owner
      yield* owner.freeze
      const status = () => kit.timeline().happenings.findLast((one) => one._tag === "Seen" && one.client === "client 1")
      yield* kit.eventually(
        "a client says that the owner is unresponsive",
        status,
        (seen) => seen?._tag === "Seen" && seen.status === "unresponsive",
        { within: "30 seconds" }
      )
      yield* expect(lifeOf(kit, first.pid)?.to === undefined, "the owner was killed")
      yield* applications(kit, 1)
      const [client] = clients
      const outcome = yield* client!.restart()
      yield* expect(outcome._tag === "Restarted", `the restart ended as ${outcome._tag}`)
      const next = yield* attached(clients)
      yield* expect(next.pid !== first.pid, "the clients are attached to the frozen process")
      yield* applications(kit, 2)
    })
)

export const crashes: ReadonlyArray<Scenario> = [herd, ready, startup, deleted, unresponsive]
