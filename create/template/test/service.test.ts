import { assert, it } from "@effect/vitest"
import * as laws from "@holdfast/testkit/laws"
import { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import { spec } from "../src/service.ts"

it.live(
  "answers, and again after kill -9",
  () =>
    Effect.gen(function* () {
      const { client, owner } = yield* Testkit
      const ask = Effect.flatMap(client.http.get("/hello"), (response) => response.text)
      yield* client.launch()
      assert.strictEqual(yield* ask, "hello")
      yield* (yield* owner).kill
      yield* client.reconnect()
      assert.strictEqual(yield* ask, "hello")
    }).pipe(Effect.provide(Testkit.layer(spec))),
  30_000 // real processes
)

// whatever the service does, these hold
laws.suite(spec)
