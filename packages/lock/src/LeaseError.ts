/**
 * The ways in which a lease is not ours, or not ours to write, each something else to do for the caller.
 *
 * **Example**
 *
 * ```ts
 * import { type Claim, LeaseStore } from "@holdfast/lock/LeaseStore"
 * import * as Effect from "effect/Effect"
 *
 * export const next = (claim: Claim) =>
 *   Effect.gen(function*() {
 *     const store = yield* LeaseStore
 *     yield* store.renew(claim)
 *     return "go on" as const
 *   }).pipe(
 *     Effect.catchTags({
 *       ClaimSuperseded: () => Effect.succeed("stop" as const),
 *       LeaseReplaced: () => Effect.succeed("lock the new file first" as const),
 *       LeaseUnavailable: ({ message }) => Effect.as(Effect.logWarning(message), "try again" as const)
 *     })
 *   )
 * ```
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ExitCode from "./ExitCode.ts"
import type { LeaseCode } from "./internal/leaseDatabase.ts"
import { leaseWords } from "./internal/leaseWords.ts"
import { ServiceError } from "./ServiceError.ts"

/**
 * The recorded holder runs: nobody takes its place, whatever its expiry says.
 *
 * **Details** `pid` and `host` are those that the holder recorded when it claimed.
 *
 * @category errors
 * @since 0.1.0
 */
export class LeaseHeld extends ServiceError<LeaseHeld>()("LeaseHeld", ExitCode.unavailable, {
  pid: Schema.Int,
  host: Schema.String
}) {}

/**
 * The lease cannot be read or written now: full, busy, read-only, damaged, or of a newer version. It is not loss.
 *
 * **When to use** To try again: an owner that holds its lock goes on meanwhile. `code` is one word for the cause, such as
 * `busy`, `full` or `corrupt`.
 *
 * @category errors
 * @since 0.1.0
 */
export class LeaseUnavailable extends ServiceError<LeaseUnavailable>()("LeaseUnavailable", ExitCode.cannotCreate, {
  path: Schema.String,
  code: Schema.String
}) {}

/**
 * Our claim is not the one in the store any more: another owner was crowned, or it was released. Only this ends an
 * owner.
 *
 * **Details** `ours` and `stored` are epochs; `stored` is `null` where the store has none.
 *
 * **When to use** To stop at once, and to remove nothing: the files are the successor's.
 *
 * @category errors
 * @since 0.1.0
 */
export class ClaimSuperseded extends ServiceError<ClaimSuperseded>()("ClaimSuperseded", ExitCode.unavailable, {
  ours: Schema.Int,
  stored: Schema.NullOr(Schema.Int)
}) {}

/**
 * The store at the path is another one by now: deleted, moved, or put back from an older copy. It says nothing about
 * who owns.
 *
 * **When to use** To look whether the lock's path still names our file (`ProcessLock.reanchor`), and then `rewrite`.
 *
 * @category errors
 * @since 0.1.0
 */
export class LeaseReplaced extends ServiceError<LeaseReplaced>()("LeaseReplaced", ExitCode.cannotCreate, {
  path: Schema.String
}) {}

/** @internal */
export const unavailable = (path: string, code: LeaseCode): LeaseUnavailable =>
  new LeaseUnavailable({ path, code, ...leaseWords(path, code) })

/** @internal */
export const superseded = (ours: number, stored: number | null): ClaimSuperseded =>
  new ClaimSuperseded({
    ours,
    stored,
    message: `This service's claim (epoch ${ours}) was superseded${stored === null ? "" : ` by epoch ${stored}`}.`,
    action: "Nothing is to be done: the newer owner serves."
  })
