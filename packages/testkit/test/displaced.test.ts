import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { open, raw, ticks } from "./interfaces.ts"
import { withKit } from "./withKit.ts"

describe.concurrent("an owner in policy fenced", () => {
  it.live(
    "that sleeps and is followed by another: streams and requests to it are cut, and go on at the new one, with a fresh snapshot",
    () =>
      withKit({ policy: "fenced" }, (kit) =>
        Effect.gen(function* () {
          const first = yield* kit.client.ensure()
          const screen = yield* open(kit, { CALLS: "1", POLICY: "fenced" })
          yield* ticks(kit, screen, first.pid)
          const followed: Array<string> = []
          yield* kit.client
            .follow({
              snapshot: Effect.succeed("all"),
              events: Effect.map(kit.client.http.get("/ticks"), ({ stream }) => stream)
            })
            .pipe(
              Stream.runForEach((item) =>
                Effect.sync(() => item._tag === "Snapshot" && followed.push(item.instanceID))
              ),
              Effect.forkScoped
            )
          yield* kit.eventually(
            "it follows, too",
            () => followed.length,
            (count) => count === 1
          )
          const owner = yield* kit.owner
          yield* owner.freeze
          const { pid } = yield* kit.client.ensure({ deadline: "60 seconds" })
          assert.notStrictEqual(pid, first.pid)
          yield* ticks(kit, screen, pid)
          yield* kit.eventually(
            "calls and events are those of the new one",
            () => [screen.lines("called").at(-1), followed.length] as const,
            ([call, count]) => call === `called: hello from ${pid}` && count === 2
          )
          assert.lengthOf(screen.lines("reopened"), 2)
          assert.isEmpty(screen.lines("error"))
          assert.notMatch(screen.output(), raw)
          yield* owner.thaw
          yield* owner.exited
        })
      ),
    120_000
  )
})
