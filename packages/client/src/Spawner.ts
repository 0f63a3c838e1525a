/**
 * Starts a contender, detached, one client at a time, and hears from it what became of it.
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
import type { Budget } from "./internal/budget.ts"
import { takeOut } from "./internal/begun.ts"
import type { ContenderEvent as Heard } from "./internal/contender.ts"
import * as core from "./internal/spawning.ts"

/**
 * What is heard of a contender: its outcome on the startup pipe, and its end. `exited` comes last; `diagnostic` is the
 * last line it left in the log.
 *
 * @category models
 * @since 0.1.0
 */
export type ContenderEvent = Heard

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
 * What became of the wish for a contender.
 *
 * **Details** `Started`: it runs. `Queued`: another client starts one, and nobody is needed; `stuck` when no process is
 * known that gets on with it. `TooOften`: the service was started too often, by all its clients together: not before `ms`
 * milliseconds. `crashes` says what went wrong meanwhile. `Found`: there is an owner by now.
 *
 * @category models
 * @since 0.1.0
 */
export type Spawned =
  | { readonly _tag: "Started"; readonly contender: Contender }
  | { readonly _tag: "Queued"; readonly stuck: boolean; readonly crashes: Crashes }
  | { readonly _tag: "TooOften"; readonly ms: number; readonly crashes: Crashes }
  | { readonly _tag: "Found" }

/**
 * Starts in a row that ended at once: how many, the first and the last one's words, and when the last one did (wall
 * clock, in milliseconds).
 *
 * @category models
 * @since 0.1.0
 */
export type Crashes = Pick<Budget, "crashes" | "first" | "last" | "crashedAt">

/**
 * Starts contenders for one service, one client at a time.
 *
 * **Details** The contender gets its own session, the service's directory as cwd, a scrubbed environment, closed
 * standard input, the service's log for its output, and the spawn lock, which it holds until it is registered or has
 * ended. Under the same lock all clients share a budget: three starts in a row cost nobody a pause, each further one
 * waits twice as long, up to five seconds. The lock saves processes and no more: where none can be had everybody may
 * start one, and the service's own lock decides.
 *
 * - `spawn`: does not wait. `unlike` names the instance that was found of no use; `anyway` does without the spawn lock;
 *   `asked`, for what a person asked for, begins a new budget.
 * - `tellCrash`: tells the other clients how a contender ended that ended at once.
 *
 * **When to use** Through `ServiceClient`, which knows when somebody is to be started. By itself in a harness.
 *
 * **Example**
 *
 * ```ts
 * import { Spawner } from "@holdfast/client/Spawner"
 * import * as Effect from "effect/Effect"
 * import * as Queue from "effect/Queue"
 *
 * export const firstWord = Effect.gen(function*() {
 *   const spawner = yield* Spawner
 *   const spawned = yield* spawner.spawn({ anyway: false, asked: true })
 *   return spawned._tag === "Started" ? yield* Queue.take(spawned.contender.events) : spawned._tag
 * }).pipe(Effect.scoped)
 * ```
 *
 * Source: service-lifecycle.md "Election"; DESIGN §6 "Spawning" and "Budget".
 *
 * @category services
 * @since 0.1.0
 */
export class Spawner extends Context.Service<
  Spawner,
  {
    readonly spawn: (wanting: core.Wanting) => Effect.Effect<Spawned, DirectoryUnusable, Scope.Scope>
    readonly tellCrash: (words: string) => Effect.Effect<void>
  }
>()("@holdfast/client/Spawner") {
  /** Creates the state directory on the first spawn. */
  static readonly layer = (spec: ServiceSpec, paths: ServicePaths): Layer.Layer<Spawner> =>
    Layer.succeed(
      Spawner,
      Spawner.of({
        spawn: (wanting) => spawn(spec, paths, wanting),
        tellCrash: (words) => Effect.promise(() => core.tellCrash(paths, words))
      })
    )
}

const spawn = (
  spec: ServiceSpec,
  paths: ServicePaths,
  wanting: core.Wanting
): Effect.Effect<Spawned, DirectoryUnusable, Scope.Scope> =>
  Effect.gen(function* () {
    const unusable = yield* Effect.sync(() => StateDirectory.prepare(paths.directory))
    if (unusable !== undefined) return yield* fromProblem("directory", unusable) as DirectoryUnusable
    const spawned = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () => takeOut(paths.lock) ?? core.spawn(spec, paths, wanting),
        catch: (error) => fromProblem("directory", unstarted(paths, error)) as DirectoryUnusable
      }),
      (made) => Effect.sync(() => made._tag === "Started" && made.contender.release())
    )
    if (spawned._tag === "TooOften") return { _tag: "TooOften", ms: spawned.ms, crashes: spawned.budget }
    if (spawned._tag === "Queued") return { _tag: "Queued", stuck: spawned.stuck, crashes: spawned.budget }
    if (spawned._tag !== "Started") return spawned
    const events = yield* Queue.unbounded<ContenderEvent>()
    spawned.contender.follow((event) => Queue.offerUnsafe(events, event))
    return { _tag: "Started", contender: { pid: spawned.contender.pid, events } }
  })

/** The log is opened here; a person is told which of the two it is. */
const unstarted = (paths: ServicePaths, error: unknown): Problem =>
  (error as NodeJS.ErrnoException).path === paths.log
    ? problem("write to", paths.log, error)
    : problem("start the service in", paths.directory, error)
