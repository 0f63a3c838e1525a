/** The laws of using, signalling and keeping secrets: 7, 9 and 10. */
import type { Access } from "@holdfast/client/ServiceClient"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { Law } from "../Law.ts"
import { bystander, misname } from "./bystander.ts"
import { expect, hold, isReady, type Kit, law } from "./law.ts"
import { textOf } from "./marks.ts"

/** An owner that was killed, with the records that it leaves. */
const dead = (kit: Kit) =>
  Effect.gen(function* () {
    const [owner] = yield* kit.swarm(1)
    const { registration } = yield* isReady(kit)
    yield* owner!.kill
    yield* owner!.exited
    return registration!
  })

const seven = law(7, "no process is signalled that only has a recorded pid", (kit) =>
  Effect.gen(function* () {
    const stranger = yield* bystander
    yield* dead(kit)
    yield* Effect.sync(() => misname(kit.paths, stranger.pid))
    yield* kit.note(`the records name the bystander ${stranger.pid}`)
    yield* kit.client.stop()
    yield* expect(stranger.signals().length === 0, `a stop sent ${stranger.signals()} to a stranger`)
    yield* Effect.sync(() => misname(kit.paths, stranger.pid))
    const [next] = yield* kit.swarm(1)
    yield* kit.waitFor(
      "the successor is ready",
      ({ health }) => health?.pid === next!.pid && health.status.type === "ready",
      {
        within: "45 seconds"
      }
    )
    yield* kit.client.restart().pipe(Effect.catch(({ message }) => hold(message)))
    yield* expect(stranger.signals().length === 0, `a stranger was sent ${stranger.signals()}`)
  })
)

const ends = (kit: Kit, access: Access) =>
  Effect.gen(function* () {
    const client = yield* kit.follow(`a client that may ${access}`, { access })
    return yield* client.changes.pipe(Stream.runDrain, Effect.forkScoped)
  })

const nine = law(9, "a client outlives the service, frozen and killed, and goes on with the next one", (kit) =>
  Effect.gen(function* () {
    const [first] = yield* kit.swarm(1)
    yield* isReady(kit)
    const followers = [yield* ends(kit, "attach"), yield* ends(kit, "launch")]
    const client = yield* kit.follow("a client that waits", { access: "launch" })
    yield* first!.freeze
    const state = yield* client.state
    yield* kit.note(`frozen, it is ${state.status.type}`)
    yield* first!.thaw
    yield* first!.kill
    yield* first!.exited
    const found = yield* client.reconnect().pipe(
      Effect.timeoutOption("30 seconds"),
      Effect.catchCause((cause) => hold(`a client ended: ${cause}`).pipe(Effect.as(undefined)))
    )
    yield* expect(found?._tag === "Some" && found.value.pid !== first!.pid, "a client found no successor in 30 s")
    yield* isReady(kit)
    for (const follower of followers) {
      const exit = yield* Effect.sync(() => follower.pollUnsafe())
      yield* expect(exit === undefined, `a client that followed ended: ${JSON.stringify(exit)}`)
      yield* Fiber.interrupt(follower)
    }
  })
)

const ten = law(10, "the secret is in no log, no process list, no error, and no stranger gets it", (kit) =>
  Effect.gen(function* () {
    const registration = yield* dead(kit)
    const secret = textOf(kit.paths.secret).trim()
    yield* expect(secret.length === 43, "there is no secret")
    const port = /^http:\/\/[^/]+:(\d+)/.exec(registration.url)?.[1]
    const stranger =
      port === undefined ? undefined : yield* Effect.option(kit.occupyPort("answers", { port: Number(port) }))
    const state = yield* kit.client.state
    const ready = yield* kit.client
      .ensure({ deadline: "45 seconds" })
      .pipe(Effect.catch(({ action, message }) => Effect.succeed(`${message} ${action}`)))
    const told = [
      textOf(kit.paths.log),
      kit
        .processes()
        .map(({ command }) => command)
        .join("\n"),
      JSON.stringify([state, ready]),
      stranger?._tag === "Some" ? stranger.value.received() : ""
    ]
    const places = ["the log", "the process list", "what a client is told", "what a stranger received"]
    const found = places.filter((_, index) => told[index]!.includes(secret))
    yield* expect(found.length === 0, `the secret is in ${found.join(", ")}`)
  })
)

export const clientsLaws: ReadonlyArray<Law> = [seven, nine, ten]
