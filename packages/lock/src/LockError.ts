/**
 * The three ways in which a lock is not ours, each something else to do for the caller.
 *
 * **Example**
 *
 * ```ts
 * import { ProcessLock } from "@holdfast/lock/ProcessLock"
 * import * as Effect from "effect/Effect"
 *
 * export const once = Effect.log("only one process is here at a time").pipe(
 *   Effect.provide(ProcessLock.layer("/tmp/hello/service.lock")),
 *   Effect.catchTags({
 *     LockHeld: ({ message }) => Effect.log(message),
 *     LockUnsupported: ({ action, message }) => Effect.logError(message, action)
 *   })
 * )
 * ```
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ExitCode from "./ExitCode.ts"
import { ServiceError } from "./ServiceError.ts"

/**
 * Another process holds the lock: the normal end of a contender that lost.
 *
 * **Details** `pid` is the holder's by its note; it is absent where no note was asked, or none names a running process.
 *
 * **When to use** To use the service that runs, and to leave.
 *
 * @category errors
 * @since 0.1.0
 */
export class LockHeld extends ServiceError<LockHeld>()("LockHeld", ExitCode.unavailable, {
  path: Schema.String,
  pid: Schema.optionalKey(Schema.Int)
}) {}

/**
 * No lock that holds can be taken here: no primitive, or a file system that does not enforce it.
 *
 * **Details** `filesystem` is its name in `statfs(2)`, or `unknown`. It is never treated as "nobody else is there".
 *
 * **When to use** To show `action`. Where there is no better place, the policy `fenced` goes on without the lock.
 *
 * @category errors
 * @since 0.1.0
 */
export class LockUnsupported extends ServiceError<LockUnsupported>()("LockUnsupported", ExitCode.unsupported, {
  path: Schema.String,
  filesystem: Schema.optionalKey(Schema.String)
}) {}

/**
 * The lock file cannot be opened or locked: permission, disk, path.
 *
 * **Details** `code` is the system's, such as `EACCES`; `message` and `action` say it in words (`Problem`).
 *
 * @category errors
 * @since 0.1.0
 */
export class LockFailed extends ServiceError<LockFailed>()("LockFailed", ExitCode.cannotCreate, {
  path: Schema.String,
  code: Schema.String
}) {}

/**
 * Any error of taking the lock.
 *
 * @category errors
 * @since 0.1.0
 */
export type LockError = LockHeld | LockUnsupported | LockFailed
