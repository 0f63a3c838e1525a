/**
 * The three ways in which a lock is not ours, each something else to do for the caller.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ExitCode from "./ExitCode.ts"
import { ServiceError } from "./ServiceError.ts"

/**
 * Another process holds the lock: the normal end of a contender that lost.
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
