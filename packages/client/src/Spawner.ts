/**
 * Starts a contender, detached, and hears from it what became of it.
 *
 * @since 0.1.0
 */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { type Problem, problem } from "@holdfast/lock/Problem"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as StateDirectory from "@holdfast/lock/StateDirectory"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { type DirectoryUnusable, fromProblem } from "./ClientError.ts"
import { type ContenderEvent as Heard, start } from "./internal/contender.ts"

/**
 * What is heard of a contender: its outcome on the startup pipe, and its end. `exited` comes last; `diagnostic` is the
 * last line it left in the log.
 *
 * @category models
 * @since 0.1.0
 */
export type ContenderEvent = Heard

/**
 * Command, arguments and environment that make a process a contender, for a test harness that starts it itself.
 *
 * @category constructors
 * @since 0.1.0
 */
export { type Launch, launchOf } from "./internal/contender.ts"

/**
 * A started contender. Leaving the scope lets go of it; it is not stopped.
 *
 * @category models
 * @since 0.1.0
 */
export interface Contender {
  readonly pid: number
  readonly events: Queue.Dequeue<ContenderEvent>
}

/**
 * Starts contenders for one service. It does not wait and does not choose: that is `ServiceClient`'s.
 *
 * **Details** The contender gets its own session, the service's directory as cwd, a scrubbed environment, closed
 * standard input, and the service's log for its output.
 *
 * @category services
 * @since 0.1.0
 */
export class Spawner extends Context.Service<
  Spawner,
  { readonly spawn: Effect.Effect<Contender, DirectoryUnusable, Scope.Scope> }
>()("@holdfast/client/Spawner") {
  /** Creates the state directory on the first spawn. */
  static readonly layer = (spec: ServiceSpec, paths: ServicePaths): Layer.Layer<Spawner> =>
    Layer.succeed(Spawner, Spawner.of({ spawn: spawn(spec, paths) }))
}

const spawn = (spec: ServiceSpec, paths: ServicePaths): Effect.Effect<Contender, DirectoryUnusable, Scope.Scope> =>
  Effect.gen(function* () {
    const unusable = yield* Effect.sync(() => StateDirectory.prepare(paths.directory))
    if (unusable !== undefined) return yield* fromProblem("directory", unusable) as DirectoryUnusable
    const events = yield* Queue.unbounded<ContenderEvent>()
    const contender = yield* Effect.acquireRelease(
      Effect.try({
        try: () => start(spec, paths),
        catch: (error) => fromProblem("directory", unstarted(paths, error)) as DirectoryUnusable
      }),
      (started) => Effect.sync(() => started.release())
    )
    contender.follow((event) => Queue.offerUnsafe(events, event))
    return { pid: contender.pid, events }
  })

/** The log is opened here; a person is told which of the two it is. */
const unstarted = (paths: ServicePaths, error: unknown): Problem =>
  (error as NodeJS.ErrnoException).path === paths.log
    ? problem("write to", paths.log, error)
    : problem("start the service in", paths.directory, error)
