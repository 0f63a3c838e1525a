/**
 * One's own application in the test's process, under a clock that the test moves: for everything that is not about
 * processes.
 *
 * @since 0.1.0
 */
import { ServiceClient } from "@holdfast/client/ServiceClient"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as Layer from "effect/Layer"
import { SuspendClock } from "./SuspendClock.ts"

type Application<E> = Parameters<typeof ServiceClient.layerInProcess<E>>[1]

/**
 * A client of the application, and a clock that can sleep.
 *
 * **Details** No process, no socket, no lock; a directory of its own that goes with the scope. Under `it.effect` timers go
 * on with `TestClock.adjust`, and `suspend` moves the wall clock alone, as a machine does that sleeps.
 *
 * **When to use** For what the application answers, stores and does on schedule. What concerns locks, signals, crashes and
 * updates needs real processes: `Testkit`, `laws`.
 *
 * **Gotchas** A request reaches the application by promises, which no clock moves: wait until it has arrived before you
 * move the clock.
 *
 * **Example**
 *
 * ```ts
 * import { layer } from "@effect/vitest"
 * import { ServiceClient } from "@holdfast/client/ServiceClient"
 * import * as Application from "@holdfast/lifecycle/Application"
 * import { define } from "@holdfast/lifecycle/ServiceSpec"
 * import * as InProcess from "@holdfast/testkit/InProcess"
 * import * as Effect from "effect/Effect"
 * import * as HttpRouter from "effect/http/HttpRouter"
 * import * as HttpServerResponse from "effect/http/HttpServerResponse"
 *
 * const hello = define({ app: "hello", version: "1.0.0", entry: new URL("./daemon.ts", import.meta.url) })
 * const application = Application.make(HttpRouter.add("GET", "/hello", HttpServerResponse.text("hello")))
 *
 * layer(InProcess.layer(hello, application))("hello", (it) => {
 *   it.effect("says hello", () =>
 *     Effect.gen(function*() {
 *       const { http } = yield* ServiceClient
 *       const response = yield* http.get("/hello")
 *       return yield* response.text
 *     }))
 * })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <E>(
  spec: ServiceSpec,
  application: Application<E>
): Layer.Layer<ServiceClient | SuspendClock, E> =>
  ServiceClient.layerInProcess(spec, application).pipe(Layer.provideMerge(SuspendClock.layer))
