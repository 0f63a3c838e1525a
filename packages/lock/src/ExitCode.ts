/**
 * Exit codes of services and of the `service` commands, after sysexits(3). Documented in docs/exit-codes.md.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */

/** A stopped service, a contender that lost, a command that did what it was asked. @since 0.1.0 */
export const ok = 0
/** A command that ran and whose answer is "no", and a flag or command that does not exist. @since 0.1.0 */
export const no = 1
/** `service status`: nobody runs. @since 0.1.0 */
export const notRunning = 3
/** `service status`: somebody runs, or may, and does not answer. @since 0.1.0 */
export const notKnown = 4
/** `service status`: the application is not ready yet. @since 0.1.0 */
export const starting = 5
/** `service status`: it is about to end. @since 0.1.0 */
export const stopping = 6
/** `service status`: it runs and its application could not start. @since 0.1.0 */
export const failed = 7
/** A wrong flag, name or setting. @since 0.1.0 */
export const usage = 64
/** The service could not be reached, started or stopped. @since 0.1.0 */
export const unavailable = 69
/** The application failed after it was ready, or a defect. @since 0.1.0 */
export const software = 70
/** No lock that holds can be taken here. @since 0.1.0 */
export const unsupported = 71
/** A file or directory cannot be created or used. @since 0.1.0 */
export const cannotCreate = 73
/** Not allowed: a credential was refused. @since 0.1.0 */
export const notAllowed = 77
