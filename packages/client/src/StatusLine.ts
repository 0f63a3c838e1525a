/**
 * The status of a service on the terminal while somebody waits for it.
 *
 * @since 0.1.0
 */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { ServiceClient } from "./ServiceClient.ts"
import * as StatusText from "./StatusText.ts"

const clear = "\r\u001b[2K"

/** One line that is rewritten on a terminal, a line each elsewhere. */
const write = (text: string): void => {
  const { stderr } = process
  if (!stderr.isTTY) stderr.write(`${text}\n`)
  else stderr.write(`${clear}${text.slice(0, Math.max((stderr.columns || 80) - 1, 20))}`)
}

/**
 * Shows the service's words on standard error for as long as `self` runs, and nothing once the service is ready.
 *
 * **When to use** Around `launch` and around requests that may have to wait, in a command-line program.
 *
 * **Gotchas** On a terminal the line is wiped at the end; write nothing else to standard error meanwhile.
 *
 * **Example**
 *
 * ```ts
 * import { ServiceClient } from "@holdfast/client/ServiceClient"
 * import * as StatusLine from "@holdfast/client/StatusLine"
 * import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
 * import * as Effect from "effect/Effect"
 *
 * export const hello = (spec: ServiceSpec) =>
 *   Effect.gen(function*() {
 *     const service = yield* ServiceClient
 *     yield* service.launch()
 *     const response = yield* service.http.get("/hello")
 *     return yield* response.text
 *   }).pipe(StatusLine.during(spec))
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const during =
  (spec: ServiceSpec) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | ServiceClient> =>
    Effect.gen(function* () {
      const service = yield* ServiceClient
      let shown = false
      const showing = yield* service.changes.pipe(
        // a failure is the answer itself, and is said by whoever asked
        Stream.filter((state) => state.status.type !== "failed"),
        Stream.map((state) => StatusText.line(state, spec)),
        Stream.filter((line) => !line.usable),
        Stream.map((line) => (line.action === undefined ? line.text : `${line.text} ${line.action}`)),
        Stream.changes,
        Stream.runForEach((text) =>
          Effect.sync(() => {
            shown = true
            write(text)
          })
        ),
        Effect.forkChild
      )
      return yield* Effect.ensuring(
        self,
        Effect.andThen(
          Fiber.interrupt(showing),
          Effect.sync(() => {
            if (shown && process.stderr.isTTY) process.stderr.write(clear)
          })
        )
      )
    })
