import { assert, describe, it } from "@effect/vitest"
import { createServiceClient, type PromiseServiceClient } from "@holdfast/client/promise"
import { isLost, type TransportLost } from "@holdfast/client/Transport"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Fiber, Stream } from "effect"
import * as fs from "node:fs"
import { setKnobs } from "./fixture/service.ts"
import { freePort } from "./ports.ts"
import { isReady, withKit } from "./withKit.ts"

interface Posted {
  readonly id: string
  /** What it answered, or its loss. */
  readonly answer?: string
  readonly lost?: TransportLost
}

/** Posts one after another until it is told to end, each with a name of its own. */
const posting = async (
  client: PromiseServiceClient,
  name: number,
  posted: Array<Posted>,
  ended: () => boolean
): Promise<void> => {
  for (let count = 0; !ended(); count++) {
    const id = `${name}-${count}`
    try {
      const response = await client.fetch(`/add?id=${id}`, { method: "POST" })
      posted.push({ id, answer: `${response.status} ${await response.text()}` })
    } catch (error) {
      if (!isLost(error)) throw error
      posted.push({ id, lost: error as TransportLost })
    }
  }
}

/** By whom each post was done, as the owners wrote it down. */
const done = (kit: Testkit["Service"]): ReadonlyMap<string, ReadonlyArray<string>> => {
  const found = new Map<string, Array<string>>()
  for (const line of fs.readFileSync(`${kit.paths.directory}/added`, "utf8").trim().split("\n")) {
    const [pid = "", id = ""] = line.split(" ")
    found.set(id, [...(found.get(id) ?? []), pid])
  }
  return found
}

const ends = {
  killed: (kit: Testkit["Service"]) =>
    Effect.flatMap(kit.owner, (owner) => Effect.andThen(owner.kill, Effect.asVoid(owner.exited))),
  restarted: (kit: Testkit["Service"]) => Effect.asVoid(kit.client.restart())
}

describe.concurrent("the owner is replaced under clients that post, stream and follow", () => {
  for (const where of ["on another port", "on the same port"] as const) {
    for (const how of ["restarted", "killed"] as const) {
      it.live(
        `${how}, ${where}: they move, with a fresh snapshot; no post is done twice, and none by the wrong instance`,
        () =>
          Effect.gen(function* () {
            const [one, two] = [yield* freePort, yield* freePort]
            yield* withKit({ port: one }, (kit) =>
              Effect.gen(function* () {
                const first = yield* kit.client.ensure()
                const clients = yield* Effect.acquireRelease(
                  Effect.sync(() => Array.from({ length: 4 }, () => createServiceClient(kit.spec))),
                  (all) => Effect.promise(() => Promise.all(all.map((client) => client.dispose())))
                )
                const posted: Array<Posted> = []
                let over = false
                const posts = yield* Effect.forEach(
                  clients,
                  (client, name) => Effect.promise(() => posting(client, name, posted, () => over)),
                  { concurrency: "unbounded", discard: true }
                ).pipe(Effect.forkScoped)
                const streamed: Array<string> = []
                yield* Effect.promise(async () => {
                  for await (const { data, event } of clients[0]!.events("/ticks")) {
                    const line = event === "reopened" ? event : `of ${(data as { readonly pid: number }).pid}`
                    if (streamed.at(-1) !== line) streamed.push(line)
                  }
                }).pipe(Effect.ignore, Effect.forkScoped)
                const followed: Array<string> = []
                yield* kit.client
                  .follow({
                    snapshot: Effect.flatMap(kit.client.http.get("/hello"), ({ text }) => text),
                    events: Effect.map(kit.client.http.get("/ticks"), ({ stream }) => stream)
                  })
                  .pipe(
                    Stream.runForEach((item) =>
                      Effect.sync(() => {
                        const line = item._tag === "Snapshot" ? `${item.value} as ${item.instanceID}` : "events"
                        if (followed.at(-1) !== line) followed.push(line)
                      })
                    ),
                    Effect.forkScoped
                  )
                const answered = (pid: number) => posted.filter(({ answer }) => answer === `200 ${pid}`).length
                const settled = (pid: number) =>
                  kit.eventually(
                    "posts, stream and snapshots are those of the owner there is",
                    () => [answered(pid) > 20, streamed.at(-1), followed.at(-2), followed.at(-1)] as const,
                    ([posts, stream, snapshot, events]) =>
                      posts &&
                      stream === `of ${pid}` &&
                      snapshot?.startsWith(`hello from ${pid} `) === true &&
                      events === "events"
                  )
                yield* settled(first.pid)
                if (where === "on another port") setKnobs(kit.paths.directory, { port: two })
                yield* ends[how](kit)
                const next = (yield* isReady(kit)).registration!
                yield* settled(next.pid)
                over = true
                yield* Fiber.join(posts)

                assert.strictEqual(next.url === first.url, where === "on the same port")
                assert.deepStrictEqual(streamed, ["reopened", `of ${first.pid}`, "reopened", `of ${next.pid}`])
                assert.deepStrictEqual(followed, [
                  `hello from ${first.pid} as ${first.instanceID}`,
                  "events",
                  `hello from ${next.pid} as ${next.instanceID}`,
                  "events"
                ])
                const by = done(kit)
                for (const { answer, id, lost } of posted) {
                  const doers = by.get(id) ?? []
                  if (answer !== undefined) assert.deepStrictEqual(doers, [answer.slice(4)], `post ${id}`)
                  else assert.isAtMost(doers.length, lost?.landed === "maybe" ? 1 : 0, `post ${id}`)
                }
                const losses = posted.filter(({ lost }) => lost !== undefined)
                // the kernel closes a killed owner's connections and its listener one after the other: who comes again at
                // once may be cut a second time
                assert.isAtMost(losses.length, how === "restarted" ? 0 : 2 * clients.length)
                for (const { lost } of losses) {
                  assert.strictEqual(lost!.url, first.url)
                  assert.include(lost!.message, `${first.url} was lost during POST /add`)
                }
              })
            )
          }),
        60_000
      )
    }
  }
})
