/**
 * Exit codes of services and of the `service` commands, after sysexits(3). Documented in docs/exit-codes.md.
 *
 * **When to use** To read what a command of Holdfast answered, and for errors of your own (`ServiceError`).
 *
 * **Example**
 *
 * ```ts
 * import * as ExitCode from "@holdfast/lock/ExitCode"
 * import { spawnSync } from "node:child_process"
 *
 * export const isReady = (): boolean => spawnSync("hello", ["service", "status"]).status === ExitCode.ok
 * ```
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */

/**
 * A stopped service, a contender that lost, a command that did what it was asked.
 *
 * @category codes
 * @since 0.1.0
 */
export const ok = 0

/**
 * A command that ran and whose answer is "no", and a flag or command that does not exist.
 *
 * @category codes
 * @since 0.1.0
 */
export const no = 1

/**
 * `service status`: nobody runs.
 *
 * @category codes
 * @since 0.1.0
 */
export const notRunning = 3

/**
 * `service status`: somebody runs, or may, and does not answer.
 *
 * @category codes
 * @since 0.1.0
 */
export const notKnown = 4

/**
 * `service status`: the application is not ready yet.
 *
 * @category codes
 * @since 0.1.0
 */
export const starting = 5

/**
 * `service status`: it is about to end.
 *
 * @category codes
 * @since 0.1.0
 */
export const stopping = 6

/**
 * `service status`: it runs and its application could not start.
 *
 * @category codes
 * @since 0.1.0
 */
export const failed = 7

/**
 * A wrong flag, name or setting.
 *
 * @category codes
 * @since 0.1.0
 */
export const usage = 64

/**
 * The service could not be reached, started or stopped.
 *
 * @category codes
 * @since 0.1.0
 */
export const unavailable = 69

/**
 * The application failed after it was ready, or a defect.
 *
 * @category codes
 * @since 0.1.0
 */
export const software = 70

/**
 * No lock that holds can be taken here.
 *
 * @category codes
 * @since 0.1.0
 */
export const unsupported = 71

/**
 * A file or directory cannot be created or used.
 *
 * @category codes
 * @since 0.1.0
 */
export const cannotCreate = 73

/**
 * Not allowed: a credential was refused.
 *
 * @category codes
 * @since 0.1.0
 */
export const notAllowed = 77
