import { assert, describe, it } from "@effect/vitest"
import { createServiceClient } from "@holdfast/client/promise"
import * as StatusText from "@holdfast/client/StatusText"
import { Effect } from "effect"
import { boots, isReady, withKit } from "./withKit.ts"

describe.concurrent("an owner that stands still", () => {
  it.live(
    "keeps requests waiting, with words for it after ten seconds; each is given up at once, and the next is answered",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* kit.client.ensure()
          const client = yield* Effect.acquireRelease(
            Effect.sync(() => createServiceClient(kit.spec)),
            (client) => Effect.promise(() => client.dispose())
          )
          client.subscribe(() => undefined)
          let events = 0
          const streaming = new AbortController()
          const stream = (async () => {
            for await (const _ of client.events("/ticks", { signal: streaming.signal })) events++
          })()
          const streamed = stream.catch((error: unknown) => error)
          yield* kit.eventually(
            "the stream is open",
            () => events,
            (count) => count > 1
          )
          const owner = yield* kit.owner
          yield* owner.freeze

          const leaving = new AbortController()
          const { signal } = leaving
          const body = new Uint8Array(8 * 2 ** 20)
          const requests = [
            client.fetch("/hello", { signal }),
            client.fetch("/hello", { signal, method: "POST", body: "tiny" }),
            client.fetch("/hello", { signal, method: "POST", body }),
            client.ensure({ signal, deadlineMs: 60_000 }),
            client.launch({ signal }),
            client.reconnect({ signal })
          ]
          const settled: Array<unknown> = []
          const ends = requests.map((request) =>
            request.then(
              (value) => settled.push(value),
              (error: unknown) => settled.push(error)
            )
          )
          yield* kit.eventually(
            "a follower says that it is unresponsive",
            () => StatusText.line(client.current(), kit.spec),
            ({ action, text }) =>
              text === "The background service owns the service lock but is not responding." &&
              action === "Run `fixture service restart` to recover it.",
            { within: "25 seconds" }
          )
          assert.deepStrictEqual(settled, [], "a request has no time limit of its own")
          const reason = new Error("mine")
          const before = performance.now()
          leaving.abort(reason)
          streaming.abort(reason)
          yield* Effect.promise(() => Promise.all(ends))
          assert.strictEqual(yield* Effect.promise(() => streamed), reason)
          assert.isBelow(performance.now() - before, 500)
          assert.deepStrictEqual(new Set(settled), new Set([reason]))

          yield* owner.thaw
          const answer = yield* Effect.promise(async () => (await client.fetch("/hello")).text())
          assert.strictEqual(answer, `hello from ${owner.pid}`)
          assert.strictEqual((yield* isReady(kit)).registration?.pid, owner.pid)
          assert.deepStrictEqual(boots(kit), [owner.pid])
        })
      ),
    60_000
  )
})
