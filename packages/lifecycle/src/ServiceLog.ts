/**
 * The log of a service, as a logger of Effect.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Inspectable from "effect/Inspectable"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { type LogFile, open } from "./internal/logFile.ts"

const text = (message: unknown): string =>
  (Array.isArray(message) ? message : [message]).map((part) => Inspectable.toStringUnknown(part, 0)).join(" ")

/** @internal */
export const loggerOf = (file: LogFile): Logger.Logger<unknown, void> =>
  Logger.make(({ cause, logLevel, message }) => {
    const lines = cause.reasons.length === 0 ? [text(message)] : [text(message), Cause.pretty(cause)]
    file.write(logLevel, lines.join("\n").replaceAll("\n", "\n  "))
  })

/**
 * Entries go to the file at `path`: stamped with the time, the level and the instance; 5 MB, and one older file beside
 * it (`<path>.1`). Entries of more than one line are indented from the second on.
 *
 * **When to use** Around `ManagedService.layer` in a program of your own. `runDaemon` logs this way by itself.
 *
 * **Gotchas** What the program prints by other means is not stamped.
 *
 * **Example**
 *
 * ```ts
 * import * as ServiceLog from "@holdfast/lifecycle/ServiceLog"
 * import * as Effect from "effect/Effect"
 *
 * export const program = Effect.logInfo("hello").pipe(
 *   Effect.provide(ServiceLog.layer("/tmp/hello/service.log", { instanceID: "4b1f9c2e" }))
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  path: string,
  options: { readonly instanceID: string; readonly limitBytes?: number }
): Layer.Layer<never> =>
  Layer.unwrap(
    Effect.acquireRelease(
      Effect.sync(() => open(path, options.instanceID, options.limitBytes)),
      (file) => Effect.sync(file.close)
    ).pipe(
      Effect.tap((file) => Effect.sync(file.check).pipe(Effect.delay("1 second"), Effect.forever, Effect.forkScoped)),
      Effect.map((file) => Logger.layer([loggerOf(file)]))
    )
  )
