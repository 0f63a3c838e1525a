/**
 * What every error of Holdfast has: a sentence for a person, the thing to do, and an exit code.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import type { userMessage } from "effect/cli/CliError"
import type { errorExitCode } from "effect/Runtime"
import * as Schema from "effect/Schema"

// the keys' values are written out: importing them would load effect/cli into every service
const userMessageKey: userMessage = "~effect/cli/CliError/userMessage"
const exitCodeKey: errorExitCode = "~effect/Runtime/errorExitCode"

const said = { message: Schema.String, action: Schema.String }

/**
 * A tagged error with `message`, `action` and the two annotations that `effect/cli` and `runMain` read: one line
 * without a stack for the person, and the exit code for the shell.
 *
 * **When to use** For every error of an application that a person may see, so that it ends like those of Holdfast.
 *
 * **Example**
 *
 * ```ts
 * import * as ExitCode from "@holdfast/lock/ExitCode"
 * import { ServiceError } from "@holdfast/lock/ServiceError"
 * import * as Schema from "effect/Schema"
 *
 * class NoIndex extends ServiceError<NoIndex>()("NoIndex", ExitCode.unavailable, { path: Schema.String }) {}
 *
 * export const error = new NoIndex({ path: "/tmp/x", message: "There is no index.", action: "Run: index" })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const ServiceError =
  <Self>() =>
  <Tag extends string, const Fields extends Schema.Struct.Fields>(
    tag: Tag,
    exitCode: number,
    fields: Fields
  ): Schema.Class<Self, Schema.TaggedStruct<Tag, Fields & typeof said>, Cause.YieldableError> => {
    const base = Schema.TaggedError<any>()(tag, { ...fields, ...said })
    Object.defineProperties(base.prototype, {
      [exitCodeKey]: { value: exitCode },
      [userMessageKey]: {
        get(this: { readonly message: string; readonly action: string }) {
          return [this.message, this.action].filter((part) => part !== "").join(" ")
        }
      }
    })
    return base as never
  }
