import { assert, layer } from "@effect/vitest"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import * as Application from "@holdfast/lifecycle/Application"
import * as InProcess from "@holdfast/testkit/InProcess"
import { SuspendClock } from "@holdfast/testkit/SuspendClock"
import { Clock, Deferred, Effect, Fiber } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { fixture } from "./fixture/service.ts"

const arrived = Deferred.makeUnsafe<void>()

/** Says what time it is, a minute later. */
const application = Application.make(
  HttpRouter.add(
    "GET",
    "/time",
    Deferred.succeed(arrived, undefined).pipe(
      Effect.andThen(Effect.delay(Clock.currentTimeMillis, "1 minute")),
      Effect.map((ms) => HttpServerResponse.text(String(ms)))
    )
  )
)

layer(InProcess.layer(fixture, application))("an application in the test's own process", (it) => {
  it.effect("is answered by, waits by the test's clock, and sleeps when the test says so", () =>
    Effect.gen(function* () {
      const { http, state } = yield* ServiceClient
      assert.strictEqual((yield* state).status.type, "ready")
      const asked = yield* Effect.forkChild(Effect.flatMap(http.get("/time"), ({ text }) => text))
      yield* Deferred.await(arrived)
      const { suspend } = yield* SuspendClock
      yield* suspend("8 hours")
      yield* TestClock.adjust("59 seconds")
      assert.isUndefined(asked.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual(Number(yield* Fiber.join(asked)), 8 * 3_600_000 + 60_000)
    })
  )
})
