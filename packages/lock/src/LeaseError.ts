/**
 * The ways in which a lease is not ours, or not ours to write, each something else to do for the caller.
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
