import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Application from "@holdfast/lifecycle/Application"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import { createRequire } from "node:module"
import { createElement, Fragment, useSyncExternalStore } from "react"
import { fromEffect, type PromiseServiceClient } from "../src/promise.ts"
import { ServiceClient } from "../src/ServiceClient.ts"
import type { ServiceState } from "../src/ServiceState.ts"
import * as StatusText from "../src/StatusText.ts"
import { stateOf } from "../src/internal/decide.ts"
import { show } from "./screen.ts"
import { reachable, spec, unreachable, until } from "./support.ts"

// what a browser or a terminal runs; under Node's own name there is only the part that renders on a server
const { createEffect, createRoot, from } = createRequire(import.meta.url)(
  "solid-js/dist/solid.cjs"
) as typeof import("solid-js")

const wrong: Array<unknown> = []
const note = (reason: unknown) => void wrong.push(reason)
beforeAll(() => void process.on("unhandledRejection", note))
afterAll(() => void process.off("unhandledRejection", note))

const application = Application.make(HttpRouter.add("GET", "/", Effect.succeed(HttpServerResponse.empty())))

const starting = stateOf(reachable({ type: "starting", progress: "Reading…" }))
const ready = stateOf(reachable({ type: "ready" }))
const gone = stateOf(unreachable("dead"))

/** A client whose service does what the test says. */
const told = Effect.gen(function* () {
  const state = yield* SubscriptionRef.make<ServiceState>(starting)
  const services = yield* Layer.build(ServiceClient.layerInProcess(spec, application))
  const service = Context.get(services, ServiceClient)
  const changes = Stream.changes(SubscriptionRef.changes(state))
  const client = yield* Effect.acquireRelease(
    Effect.sync(() => fromEffect(Context.make(ServiceClient, { ...service, changes }))),
    (client) => Effect.promise(() => client.dispose())
  )
  const become = (next: ServiceState) =>
    SubscriptionRef.set(state, next).pipe(
      Effect.andThen(until("the client knows it", () => client.current().status.type === next.status.type))
    )
  return { client, become }
})

const textOf = (client: PromiseServiceClient): string => StatusText.line(client.current(), spec).text

describe("the state of a service in a user interface", () => {
  it.live("React: useSyncExternalStore shows each state, renders no more often, and lets go when it unmounts", () =>
    Effect.gen(function* () {
      const { become, client } = yield* told
      let renders = 0
      const Status = () => {
        renders++
        const state = useSyncExternalStore(client.subscribe, client.current)
        return StatusText.line(state, spec).text
      }
      // two components over one client, as a header and a body have it
      const screen = show(createElement(Fragment, null, createElement(Status), createElement(Status)), note)
      assert.strictEqual(screen.text(), "Starting background service…".repeat(2))
      for (const state of [starting, ready, gone, ready]) {
        yield* become(state)
        const line = StatusText.line(state, spec).text
        yield* until(`it shows: ${line}`, () => screen.text() === line.repeat(2))
      }
      assert.strictEqual(renders, 2 * 5, "a snapshot that is another object each time would never come to rest")
      screen.leave()
      yield* become(gone)
      assert.strictEqual(renders, 2 * 5)
      assert.strictEqual(screen.text(), "")
    })
  )

  it.live("Solid: from takes the present state and each one after it, and lets go with its owner", () =>
    Effect.gen(function* () {
      const { become, client } = yield* told
      const shown: Array<ServiceState | undefined> = []
      const leave = createRoot((leave) => {
        const state = from<ServiceState>((set) => {
          set(() => client.current())
          return client.subscribe((next) => set(() => next))
        })
        createEffect(() => shown.push(state()))
        return leave
      })
      const expected = [client.current()]
      assert.deepStrictEqual(shown, expected)
      for (const next of [starting, ready, gone]) {
        yield* become(next)
        expected.push(client.current())
        assert.deepStrictEqual(shown, expected)
      }
      for (const [index, state] of shown.entries()) assert.strictEqual(state, expected[index])
      leave()
      yield* become(ready)
      assert.strictEqual(shown.length, 4)
    })
  )

  it.live("plain code: a listener is told each state once, and what is told is what can be read", () =>
    Effect.gen(function* () {
      const { become, client } = yield* told
      const [heard, read]: [Array<ServiceState>, Array<ServiceState>] = [[], []]
      const leave = client.subscribe((state) => {
        heard.push(state)
        read.push(client.current())
      })
      for (const next of [starting, ready, gone]) {
        yield* become(next)
        assert.strictEqual(client.current(), client.current())
      }
      leave()
      leave()
      yield* become(ready)
      assert.deepStrictEqual(
        heard.map(({ status }) => status.type),
        ["starting", "ready", "unreachable"]
      )
      for (const [index, state] of heard.entries()) assert.strictEqual(state, read[index])
      assert.strictEqual(textOf(client), "Hello v1.0.0 is ready.")
    })
  )

  it.live("the same function may listen twice, and leave once", () =>
    Effect.gen(function* () {
      const { become, client } = yield* told
      let calls = 0
      const listener = () => void calls++
      const leave = client.subscribe(listener)
      client.subscribe(listener)
      yield* become(starting)
      yield* until("both are told", () => calls === 2)
      leave()
      yield* become(ready)
      assert.strictEqual(calls, 3)
    })
  )

  it.live("a listener that throws costs the others nothing, now and later, and its error is its own", () =>
    Effect.gen(function* () {
      const { become, client } = yield* told
      const thrown: Array<unknown> = []
      const others = process.listeners("uncaughtException")
      process.removeAllListeners("uncaughtException")
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          process.removeAllListeners("uncaughtException")
          for (const other of others) process.on("uncaughtException", other)
        })
      )
      process.on("uncaughtException", (error) => thrown.push(error))
      const seen: Array<string> = []
      const mine = new Error("mine")
      client.subscribe(() => {
        throw mine
      })
      client.subscribe(({ status }) => void seen.push(status.type))
      for (const next of [starting, ready, gone]) yield* become(next)
      yield* until("each error is out", () => thrown.length === 3)
      assert.deepStrictEqual(seen, ["starting", "ready", "unreachable"])
      assert.deepStrictEqual([...new Set(thrown)], [mine])
    })
  )
})

it("in all of this nothing went wrong unseen", async () => {
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepStrictEqual(wrong, [])
})
