/**
 * The one error a boot may end with.
 *
 * @since 0.1.0
 */
import * as ExitCode from "@holdfast/lock/ExitCode"
import { ServiceError } from "@holdfast/lock/ServiceError"

/**
 * The application cannot start, in its own words: `message` is one sentence, `action` the thing to do. Both are shown
 * to people as they are, so they carry no stack and no secret.
 *
 * **When to use** In a layer of the application, for what a person can mend. The owner then says `failed` with these words,
 * keeps its lock and its address, and does not try again by itself.
 *
 * **Example**
 *
 * ```ts
 * import { BootFailed } from "@holdfast/lifecycle/BootFailed"
 * import * as Effect from "effect/Effect"
 * import * as fs from "node:fs"
 *
 * export const readIndex = (file: string) =>
 *   Effect.try({
 *     try: () => fs.readFileSync(file, "utf8"),
 *     catch: () => new BootFailed({ message: `The index ${file} cannot be read.`, action: "Run: hello index" })
 *   })
 * ```
 *
 * Source: service-lifecycle.md "Service Status"; DESIGN §4.
 *
 * @category errors
 * @since 0.1.0
 */
export class BootFailed extends ServiceError<BootFailed>()("BootFailed", ExitCode.unavailable, {}) {}
