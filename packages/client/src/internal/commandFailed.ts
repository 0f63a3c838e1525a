/** How a command of the group ends when it could not do what it was asked. */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as ExitCode from "@holdfast/lock/ExitCode"
import { ServiceError } from "@holdfast/lock/ServiceError"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as CliError from "effect/cli/CliError"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import { DirectoryUnusable } from "../ClientError.ts"
import { resolvePaths } from "../ServiceClient.ts"
import { type Look, look } from "./look.ts"

/**
 * A command that could not do what it was asked; `code` is the exit code of docs/exit-codes.md.
 *
 * @category errors
 * @since 0.1.0
 */
export class CommandFailed extends ServiceError<CommandFailed>()("CommandFailed", ExitCode.unavailable, {
  code: Schema.Int
}) {
  override readonly [Runtime.errorExitCode] = this.code
  /** Without a message there is nothing left to say: whoever failed has said it. */
  override readonly [Runtime.errorReported] = this.message !== ""
  override get [CliError.userMessage](): string {
    // `undefined` is how the annotation is absent; the interface of Error has no way to say so for a getter
    return this.message === "" ? (undefined as never) : [this.message, this.action].join(" ").trim()
  }
}

/**
 * An error that has its words.
 *
 * @category models
 * @since 0.1.0
 */
export interface Failure {
  readonly message: string
  readonly action: string
  readonly [Runtime.errorExitCode]?: number
}

/**
 * Any error with words as a `CommandFailed`, with the exit code it carries.
 *
 * **When to use** In a command of your own beside the group's, so that it ends like those: one line, and the exit code.
 *
 * **Example**
 *
 * ```ts
 * import { toFailure } from "@holdfast/client/ServiceCommand"
 * import * as Effect from "effect/Effect"
 *
 * const failed = toFailure({ message: "There is no index.", action: "Run: hello index" })
 * console.log(failed.code) // => 69
 *
 * export const search = Effect.fail(failed)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const toFailure = (error: Failure): CommandFailed =>
  new CommandFailed({
    code: error[Runtime.errorExitCode] ?? ExitCode.unavailable,
    message: error.message,
    action: error.action
  })

/** The answer was said already, and is the exit code. */
export const endWith = (code: number): Effect.Effect<void, CommandFailed> =>
  code === ExitCode.ok ? Effect.void : Effect.fail(new CommandFailed({ code, message: "", action: "" }))

/** Where the service's files are; a place that there is not is one line. */
export const pathsOf = (spec: ServiceSpec): Effect.Effect<ServicePaths, CommandFailed> =>
  Effect.suspend(() => {
    const paths = resolvePaths(spec)
    return paths instanceof DirectoryUnusable ? Effect.fail(toFailure(paths)) : Effect.succeed(paths)
  })

/** A service whose secret is of no use can still be stopped, by its note; nothing works without the directory. */
export type Needs = "directory" | "directory and secret"

/** Files that cannot be used are said before anything is tried, in one line; nothing is created. */
export const checkFiles = (
  spec: ServiceSpec,
  needs: Needs
): Effect.Effect<{ readonly paths: ServicePaths; readonly seen: Look }, CommandFailed> =>
  Effect.gen(function* () {
    const paths = yield* pathsOf(spec)
    const seen: Look = yield* Effect.sync(() => look(paths))
    if (seen._tag === "Unusable" && (seen.kind === "directory" || needs === "directory and secret")) {
      const code = seen.kind === "directory" ? ExitCode.cannotCreate : ExitCode.notAllowed
      return yield* new CommandFailed({ code, message: seen.problem.message, action: seen.problem.action })
    }
    return { paths, seen }
  })
