/**
 * The owner as a scoped layer: bound, registered, `starting`, booted, `ready` or `failed`, stopped.
 *
 * @since 0.1.0
 */
import * as ExitCode from "@holdfast/lock/ExitCode"
import { Ownership } from "@holdfast/lock/Ownership"
import { ProcessLock } from "@holdfast/lock/ProcessLock"
import { ServiceError } from "@holdfast/lock/ServiceError"
import { paths } from "@holdfast/lock/ServicePaths"
import { step } from "@holdfast/lock/step"
import { count, metrics, spans } from "@holdfast/lock/Telemetry"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Application } from "./Application.ts"
import type { BootFailed } from "./BootFailed.ts"
import { attributesOf, boot } from "./internal/boot.ts"
import * as continuity from "./internal/continuity.ts"
import { stopWhenIdle } from "./internal/idleTimer.ts"
import { drainMs, open, type Owner, portOf, type Unusable } from "./internal/owner.ts"
import type { ServiceSpec } from "./ServiceSpec.ts"
import type { ServiceStatus } from "./ServiceStatus.ts"

/**
 * The configured port is another program's. Nobody is stopped for it.
 *
 * **When to use** To show its words: they name the port and what to do. It can happen only where the spec's `listen` names a
 * port.
 *
 * @category errors
 * @since 0.1.0
 */
export class PortTaken extends ServiceError<PortTaken>()("PortTaken", ExitCode.unavailable, { port: Schema.Int }) {}

/**
 * The secret cannot be used: unreadable, another user's, or open to others.
 *
 * **When to use** To show `action`. Such a secret is never replaced by itself.
 *
 * @category errors
 * @since 0.1.0
 */
export class CredentialUnusable extends ServiceError<CredentialUnusable>()("CredentialUnusable", ExitCode.notAllowed, {
  path: Schema.String
}) {}

/**
 * The registration or another record cannot be written.
 *
 * **When to use** To show `action`. A service that nobody could find is not started.
 *
 * @category errors
 * @since 0.1.0
 */
export class RegistrationFailed extends ServiceError<RegistrationFailed>()(
  "RegistrationFailed",
  ExitCode.cannotCreate,
  {
    path: Schema.String
  }
) {}

/**
 * What an application module exports.
 *
 * @category models
 * @since 0.1.0
 */
export type ApplicationModule = () => Promise<{
  readonly default: Application
  /** Built before the application and closed after it: a tracer, an exporter of metrics, loggers. */
  readonly observability?: Layer.Layer<never, BootFailed>
}>

const toError = (unusable: Unusable, spec: ServiceSpec): PortTaken | CredentialUnusable | RegistrationFailed => {
  const { action, kind, message, path } = unusable
  switch (kind) {
    case "port":
      return new PortTaken({ port: portOf(spec), message, action })
    case "credential":
      return new CredentialUnusable({ path, message, action })
    default:
      return new RegistrationFailed({ path, message, action })
  }
}

/**
 * The running service, for the program that is its owner.
 *
 * **Details**
 *
 * - `status`: the status now, then each change.
 * - `stop`: what a client's stop does: new work is refused, work in flight gets the drain deadline (1 s), the
 *   application is closed, the registration removed. Idempotent; returns when done.
 * - `stopped`: returns when the service was stopped, by whomever.
 *
 * Closing the scope stops too.
 *
 * **Gotchas** The state directory must be there before the lock is taken (`StateDirectory.prepare`).
 *
 * **Example**
 *
 * ```ts
 * import { ManagedService } from "@holdfast/lifecycle/ManagedService"
 * import { define } from "@holdfast/lifecycle/ServiceSpec"
 * import { Ownership } from "@holdfast/lock/Ownership"
 * import { ProcessLock } from "@holdfast/lock/ProcessLock"
 * import { paths } from "@holdfast/lock/ServicePaths"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const hello = define({ app: "hello", version: "1.0.0", entry: new URL("./daemon.ts", import.meta.url) })
 * const owner = Ownership.layer().pipe(Layer.provideMerge(ProcessLock.layer(paths(hello).lock)))
 *
 * export const main = Effect.flatMap(ManagedService, (service) => service.stopped).pipe(
 *   Effect.provide(ManagedService.layer(hello, () => import("./application.ts")).pipe(Layer.provide(owner)))
 * )
 * ```
 *
 * Source: service-lifecycle.md "System Model"; DESIGN §4.
 *
 * @category services
 * @since 0.1.0
 */
export class ManagedService extends Context.Service<
  ManagedService,
  {
    readonly url: string
    readonly status: Stream.Stream<ServiceStatus>
    readonly stop: (options?: { readonly targetVersion?: string }) => Effect.Effect<void>
    readonly stopped: Effect.Effect<void>
  }
>()("@holdfast/lifecycle/ManagedService") {
  /**
   * Runs the application for as long as the scope, holding the lock. The application is imported after clients can
   * already see `starting`.
   *
   * **When to use** In an Effect program of your own; `runDaemon` is the fast way in.
   */
  static readonly layer = (
    spec: ServiceSpec,
    application: ApplicationModule
  ): Layer.Layer<ManagedService, PortTaken | CredentialUnusable | RegistrationFailed, ProcessLock | Ownership> =>
    Layer.effect(
      ManagedService,
      Effect.gen(function* () {
        const lock = yield* ProcessLock
        const files = paths(spec)
        // whoever holds another file's lock is not this service's owner
        if (lock.path !== files.lock) {
          return yield* Effect.die(new Error(`${spec.app} needs the lock ${files.lock}, and was given ${lock.path}.`))
        }
        const ownership = yield* Ownership
        const owner = yield* Effect.promise(() => open(ownership, { spec, paths: files }))
        if ("type" in owner) return yield* toError(owner, spec)
        return yield* serve(owner, application)
      })
    )
}

/** Of the drain deadline: requests in flight get this much, closing the application the rest. */
const requestsShare = 0.6

/** By then the snapshot is written, or there is none. */
const snapshotShare = 0.8

/** How often the owner looks whether its registration and secret are still there (DESIGN §7). */
const assertionInterval = "5 seconds"

/**
 * The part of owning that comes after `starting` can be heard: boot, assertion, stop.
 *
 * @internal
 */
export const serve = Effect.fnUntraced(function* (owner: Owner, application: ApplicationModule) {
  const { shell } = owner
  const scope = yield* Effect.scope
  const applicationScope = yield* Scope.make()
  const stopAsked = yield* Deferred.make<void>()
  const stopped = yield* Deferred.make<void>()
  shell.onStop(() => Deferred.doneUnsafe(stopAsked, Effect.void))

  const ownership = yield* Ownership
  yield* count("elections")
  let observability = Context.empty()
  let superseded = false
  let late = false
  const handOver = continuity.make(ownership, owner, () => !superseded && !late)
  shell.guard(ownership.isRecent, () => Effect.runPromise(ownership.recent))
  const asserting = yield* assertRegistration(owner, ownership).pipe(Effect.forkIn(scope))
  yield* ownership.lost.pipe(
    Effect.andThen(
      Effect.sync(() => {
        superseded = true
        shell.dispatch({ type: "StopAsked" })
      })
    ),
    Effect.forkIn(scope)
  )
  yield* stopWhenIdle(owner).pipe(Effect.forkIn(scope))
  // a failed boot, whoever noticed it and when, closes what the boot had opened
  const failed = yield* Deferred.make<void>()
  const noticeFailure = () => shell.status().type === "failed" && Deferred.doneUnsafe(failed, Effect.void)
  shell.subscribe(noticeFailure)
  const booting = yield* Effect.suspend(() =>
    shell.status().type === "starting"
      ? boot(owner, application, applicationScope, handOver.take, (context) => (observability = context))
      : Effect.void
  ).pipe(Effect.forkIn(scope))
  yield* Effect.sync(noticeFailure)
  yield* Deferred.await(failed).pipe(
    Effect.andThen(Fiber.interrupt(booting)),
    Effect.andThen(Scope.close(applicationScope, Exit.void)),
    Effect.forkIn(scope)
  )

  const closeApplication = Effect.andThen(Effect.sync(shell.cutOff), Scope.close(applicationScope, Exit.void))
  // one deadline for all of it: what hangs is left behind, and the process ends without it
  const graceful = Effect.suspend(() =>
    Effect.gen(function* () {
      yield* Fiber.interrupt(booting)
      const drain = Effect.promise(() => shell.drained()).pipe(
        Effect.as("drained"),
        Effect.timeoutOrElse({
          duration: drainMs * requestsShare,
          orElse: () => Effect.as(Effect.logWarning("requests in flight were cut off at the deadline"), "cut")
        }),
        Effect.tap((outcome) => count("stops", outcome))
      )
      const handed = Effect.andThen(drain, superseded ? Effect.void : handOver.leave)
      const inTime = yield* Effect.timeoutOption(handed, drainMs * snapshotShare)
      if (Option.isNone(inTime)) yield* Effect.logWarning("nothing is handed over: the snapshot took too long")
    }).pipe(
      Effect.trackDuration(metrics.stopDuration),
      Effect.withSpan(spans.stop, { attributes: attributesOf(owner, ownership) }),
      Effect.provideContext(observability),
      Effect.andThen(closeApplication) // an exporter ends with it, and sends what it has
    )
  )
  const perform = Effect.gen(function* () {
    yield* Effect.logInfo("stopping")
    yield* Effect.sync(() => step("during-drain"))
    const closing = yield* Effect.forkDetach(graceful)
    const inTime = yield* Fiber.await(closing).pipe(Effect.timeoutOption(drainMs))
    late = true
    if (Option.isNone(inTime)) {
      yield* Effect.logWarning("the application was left behind at the deadline")
      yield* Effect.forkDetach(closeApplication)
    }
    yield* Fiber.interrupt(asserting) // or it would put back what is now removed
    yield* Effect.promise(() => owner.leave({ remove: !superseded }))
    yield* Effect.logInfo("stopped")
    yield* Deferred.succeed(stopped, undefined)
  })
  // the shell says it once, whoever asked and how often; detached, because closing the scope waits for it
  yield* Deferred.await(stopAsked).pipe(Effect.andThen(perform), Effect.forkDetach)
  const stop = (options?: { readonly targetVersion?: string }) =>
    Effect.sync(() => shell.dispatch({ type: "StopAsked", ...options })).pipe(Effect.andThen(Deferred.await(stopped)))
  yield* Effect.addFinalizer(() => stop())
  return ManagedService.of({
    url: shell.url,
    status: statusStream(owner),
    stop,
    stopped: Deferred.await(stopped)
  })
})

const assertRegistration = (owner: Owner, ownership: Ownership["Service"]): Effect.Effect<void> =>
  Effect.try({ try: owner.reassert, catch: (error) => String((error as NodeJS.ErrnoException).code ?? error) }).pipe(
    Effect.matchEffect({
      onFailure: (code) => Effect.logWarning(`cannot reassert the registration now: ${code}`),
      onSuccess: (healed) => (healed.length > 0 ? Effect.logInfo(`put back: ${healed.join(", ")}`) : Effect.void)
    }),
    Effect.when(ownership.assert),
    Effect.repeat(Schedule.spaced(assertionInterval)),
    Effect.asVoid
  )

const statusStream = (owner: Owner): Stream.Stream<ServiceStatus> =>
  Stream.callback<ServiceStatus>((queue) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        Queue.offerUnsafe(queue, owner.shell.status())
        return owner.shell.subscribe((status) => Queue.offerUnsafe(queue, status))
      }),
      (unsubscribe) => Effect.sync(() => unsubscribe())
    )
  )
