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
 * @category errors
 * @since 0.1.0
 */
export class BootFailed extends ServiceError<BootFailed>()("BootFailed", ExitCode.unavailable, {}) {}
