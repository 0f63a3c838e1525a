/**
 * The testkit's errors.
 *
 * **Example**
 *
 * ```ts
 * import { Testkit } from "@holdfast/testkit/Testkit"
 * import * as Effect from "effect/Effect"
 *
 * export const slowly = Effect.gen(function*() {
 *   const kit = yield* Testkit
 *   return yield* kit.waitFor("it is ready", ({ status }) => status.type === "ready", { within: "20 seconds" })
 * }).pipe(Effect.tapError(({ timeline }) => Effect.logError(timeline)))
 * ```
 *
 * @since 0.1.0
 */
import * as ExitCode from "@holdfast/lock/ExitCode"
import { ServiceError } from "@holdfast/lock/ServiceError"

/** The first line is the sentence; the timeline stands below it, so that every runner prints it readably. */
const below = (message: string): string => message.slice(message.indexOf("\n") + 1)

/**
 * A condition did not come true in time. `timeline` is what happened until then: statuses, processes, the log's end.
 *
 * **When to use** It fails the test by itself. Give `waitFor` more time only where the machine is slow.
 *
 * @category errors
 * @since 0.1.0
 */
export class WaitedTooLong extends ServiceError<WaitedTooLong>()("WaitedTooLong", ExitCode.software, {}) {
  get timeline(): string {
    return below(this.message)
  }
}

/**
 * A process was left that nobody ended, or one that should have ended by itself. They were ended, by pid.
 *
 * **When to use** It fails the test that left them: end what the test starts, by its own pid.
 *
 * @category errors
 * @since 0.1.0
 */
export class ProcessesLeft extends ServiceError<ProcessesLeft>()("ProcessesLeft", ExitCode.software, {}) {
  get timeline(): string {
    return below(this.message)
  }
}

/**
 * A law of DESIGN §10 does not hold for the service under test.
 *
 * **When to use** It is a defect of the service, or of Holdfast; `timeline` is what happened until then.
 *
 * @category errors
 * @since 0.1.0
 */
export class LawBroken extends ServiceError<LawBroken>()("LawBroken", ExitCode.software, {}) {
  get timeline(): string {
    return below(this.message)
  }
}

/**
 * A scenario ended otherwise than it should. `timeline` is what happened until then.
 *
 * @category errors
 * @since 0.1.0
 */
export class ScenarioFailed extends ServiceError<ScenarioFailed>()("ScenarioFailed", ExitCode.software, {}) {
  get timeline(): string {
    return below(this.message)
  }
}
