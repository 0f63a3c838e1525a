/**
 * What can end a client: each a thing somebody can do something about. Transport loss is not among them.
 *
 * **Example**
 *
 * ```ts
 * import { ServiceClient } from "@holdfast/client/ServiceClient"
 * import * as Effect from "effect/Effect"
 *
 * export const started = Effect.gen(function*() {
 *   const service = yield* ServiceClient
 *   const { pid } = yield* service.launch()
 *   return `PID ${pid}`
 * }).pipe(
 *   Effect.catchTags({
 *     ServiceFailed: ({ action, message }) => Effect.succeed(`${message} ${action}`),
 *     VersionMismatch: ({ found }) => Effect.succeed(`Version ${found} runs, and somebody keeps it so.`)
 *   })
 * )
 * ```
 *
 * @since 0.1.0
 */
import * as ExitCode from "@holdfast/lock/ExitCode"
import type { Problem } from "@holdfast/lock/Problem"
import { ServiceError } from "@holdfast/lock/ServiceError"
import * as Schema from "effect/Schema"

/**
 * The service's secret cannot be used by this user: unreadable, another's, or open to others.
 *
 * **When to use** To show `action`. Nobody is asked without a secret, and no new one is made while an owner may run.
 *
 * @category errors
 * @since 0.1.0
 */
export class CredentialRejected extends ServiceError<CredentialRejected>()("CredentialRejected", ExitCode.notAllowed, {
  path: Schema.String
}) {}

/**
 * The state directory cannot be used: no directory, not ours, not writable. Nothing was changed.
 *
 * **Details** `code` is the system's, or `EOWNER` and `EMODE` for a directory of another user and one that others may write
 * to; absent where no directory could be told.
 *
 * **When to use** To show `action`. No client ends for a shortage that passes by itself, such as too many open files.
 *
 * @category errors
 * @since 0.1.0
 */
export class DirectoryUnusable extends ServiceError<DirectoryUnusable>()("DirectoryUnusable", ExitCode.cannotCreate, {
  path: Schema.String,
  code: Schema.optionalKey(Schema.String)
}) {}

/**
 * A moment's shortage of this process or machine, which says nothing about the directory: no client ends for it.
 *
 * @internal
 */
export const passesByItself = (error: DirectoryUnusable): boolean =>
  ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"].includes(error.code ?? "")

/**
 * The service's process cannot be started or cannot own: no such program, no lock that holds, a port that is taken,
 * or it ended three times at once.
 *
 * **Details** `command` is what was run.
 *
 * **When to use** To show `action`: trying again at once would meet the same.
 *
 * @category errors
 * @since 0.1.0
 */
export class ContenderUnusable extends ServiceError<ContenderUnusable>()("ContenderUnusable", ExitCode.unavailable, {
  command: Schema.String
}) {}

/**
 * A diagnosed cause for which even a client that waits for ever ends.
 *
 * @category errors
 * @since 0.1.0
 */
export type Diagnosed = CredentialRejected | DirectoryUnusable | ContenderUnusable

/**
 * The service runs and its application could not start: its own message and action.
 *
 * **When to use** To show what the application said. `restart` boots it again; a `launch` does so by itself once the failure is
 * older than ten seconds.
 *
 * @category errors
 * @since 0.1.0
 */
export class ServiceFailed extends ServiceError<ServiceFailed>()("ServiceFailed", ExitCode.unavailable, {}) {}

/**
 * A launch replaced a service once, and found yet another version.
 *
 * **Details** `required` and `found` are versions. A launch replaces at most once, so that two installed versions do not fight.
 *
 * **When to use** To say which version runs, or to go on with it by `reconnect`.
 *
 * @category errors
 * @since 0.1.0
 */
export class VersionMismatch extends ServiceError<VersionMismatch>()("VersionMismatch", ExitCode.unavailable, {
  required: Schema.String,
  found: Schema.String
}) {}

/**
 * The service was not ready before the deadline of `ensure`; `diagnostic` is the last thing that went wrong.
 *
 * **When to use** To try again later, or to show `diagnostic`: the service may still become ready.
 *
 * @category errors
 * @since 0.1.0
 */
export class ServiceNotReady extends ServiceError<ServiceNotReady>()("ServiceNotReady", ExitCode.unavailable, {
  diagnostic: Schema.String
}) {}

/**
 * A path of the application answered something else than what was asked for.
 *
 * **Details** `status` is the HTTP status.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnexpectedAnswer extends ServiceError<UnexpectedAnswer>()("UnexpectedAnswer", ExitCode.unavailable, {
  path: Schema.String,
  status: Schema.Int
}) {}

/**
 * A defect: what nobody foresaw, in one line. `cause` is what was thrown, for a log and not for a person.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unexpected extends ServiceError<Unexpected>()("Unexpected", ExitCode.software, {
  cause: Schema.Unknown
}) {}

/** @internal */
export const fromProblem = (
  kind: "directory" | "credential",
  { action, code, message, path }: Problem
): CredentialRejected | DirectoryUnusable =>
  kind === "directory"
    ? new DirectoryUnusable({ path, code, message, action })
    : new CredentialRejected({ path, message, action })
