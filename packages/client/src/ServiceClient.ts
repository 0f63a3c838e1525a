/**
 * Everybody else's side of a service: find it, start it, follow it, use it, replace it, stop it.
 *
 * @since 0.1.0
 */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { InvalidKey, paths as pathsOf, type ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as Layer from "effect/Layer"
import * as RcRef from "effect/RcRef"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import {
  type Diagnosed,
  DirectoryUnusable,
  type ServiceFailed,
  ServiceNotReady,
  type VersionMismatch
} from "./ClientError.ts"
import { Discovery } from "./Discovery.ts"
import { connect, type Usable } from "./internal/connect.ts"
import * as connections from "./internal/connections.ts"
import { type Found, type Intent, whyNot } from "./internal/decide.ts"
import { type Follow, follow, type FollowSource, watch } from "./internal/follow.ts"
import * as http from "./internal/http.ts"
import { make as makeShownState } from "./internal/shownState.ts"
import { inProcess, type Runnable } from "./internal/inProcess.ts"
import * as stopping from "./internal/stopping.ts"
import { missing, type ServiceState } from "./ServiceState.ts"
import { Spawner } from "./Spawner.ts"
import * as StatusText from "./StatusText.ts"
import type { TransportLost } from "./Transport.ts"

export type { Follow, FollowSource } from "./internal/follow.ts"
export type { ServiceHttp } from "./internal/http.ts"
export type { RestartOutcome, StopOutcome } from "./internal/stopping.ts"

/**
 * An owner whose application answers.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ready {
  readonly url: string
  readonly version: string
  readonly pid: number
  readonly instanceID: string
}

/**
 * What a client may do: `observe` only looks; `attach` also waits and asks for a stop; `launch` (the default) also
 * starts and replaces.
 *
 * @category models
 * @since 0.1.0
 */
export type Access = "observe" | "attach" | "launch"

/**
 * One service, from outside.
 *
 * **Details**
 *
 * - `state`: one look; starts nothing. `changes`: the state now, then each change, for as long as it is consumed.
 * - `launch`: the service in the wanted version (`spec.version`). Another version is stopped, once, and replaced.
 *   `asked`: a person asked for a start, so what failed before makes nobody wait.
 * - `reconnect`: whoever owns, in whatever version; waits for ever and replaces nobody.
 * - `ensure`: like `reconnect`, within a deadline (10 s) and a number of spawns (3).
 * - `http`: an `HttpClient` with paths only (`/search`). Build a typed client on it once; it survives every new owner.
 *   Requests wait while the service starts; what may have landed is sent again only when it is idempotent.
 * - `follow`: subscribes, then takes a snapshot, on each instance anew. It outlives losses and boots that fail.
 * - `stop`, `restart`: ask first, and signal only a process that is provably the owner.
 *
 * **When to use** In every program that uses the service: `launch` in one that a person starts, `reconnect` in one that must
 * not replace anybody, `ensure` where an answer is wanted by a deadline.
 *
 * **Example**
 *
 * ```ts
 * import { ServiceClient } from "@holdfast/client/ServiceClient"
 * import * as Effect from "effect/Effect"
 *
 * export const hello = Effect.gen(function*() {
 *   const service = yield* ServiceClient
 *   yield* service.launch()
 *   const response = yield* service.http.get("/hello")
 *   return yield* response.text
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class ServiceClient extends Context.Service<
  ServiceClient,
  {
    readonly state: Effect.Effect<ServiceState>
    readonly changes: Stream.Stream<ServiceState>
    readonly launch: (options?: {
      readonly version?: string | ((found: string) => boolean)
      readonly asked?: boolean
    }) => Effect.Effect<Ready, ServiceFailed | VersionMismatch | Diagnosed>
    readonly reconnect: () => Effect.Effect<Ready, Diagnosed>
    readonly ensure: (options?: {
      readonly deadline?: Duration.Input
      readonly maxSpawns?: number
    }) => Effect.Effect<Ready, ServiceNotReady | ServiceFailed | Diagnosed>
    readonly http: http.ServiceHttp
    readonly follow: <S, A, E1, E2, R>(
      source: FollowSource<S, A, E1, E2, R>
    ) => Stream.Stream<Follow<S, A>, Exclude<E1 | E2, TransportLost | HttpClientError | ServiceFailed>, R>
    readonly stop: () => Effect.Effect<stopping.StopOutcome>
    readonly restart: () => Effect.Effect<stopping.RestartOutcome, ServiceFailed | Diagnosed>
  }
>()("@holdfast/client/ServiceClient") {
  /** Does nothing until it is asked to. */
  static readonly layer = (spec: ServiceSpec, options?: { readonly access?: Access }): Layer.Layer<ServiceClient> =>
    Layer.unwrap(
      Effect.sync(() => {
        const paths = resolvePaths(spec)
        if (paths instanceof DirectoryUnusable) return Layer.succeed(ServiceClient, unusable(paths))
        return Layer.effect(ServiceClient, make(spec, paths, options?.access ?? "launch")).pipe(
          Layer.provide([Discovery.layer(paths), Spawner.layer(spec, paths), connections.layer])
        )
      })
    )

  /**
   * The application in this process: no process, socket or lock, and a directory of its own that goes with the scope.
   *
   * **When to use** In unit tests, and for a `--standalone` that must not touch the shared service.
   */
  static readonly layerInProcess = <E>(spec: ServiceSpec, application: Runnable<E>): Layer.Layer<ServiceClient, E> =>
    Layer.effect(ServiceClient, inProcess(spec, application).pipe(Effect.map((service) => ServiceClient.of(service))))
}

/** @internal */
export const resolvePaths = (spec: ServiceSpec): ServicePaths | DirectoryUnusable => {
  try {
    return pathsOf(spec)
  } catch (error) {
    if (!(error instanceof InvalidKey)) throw error
    return new DirectoryUnusable({ path: "", message: error.message, action: error.action })
  }
}

/** There is no place for this service's files: every call says so. */
const unusable = (error: DirectoryUnusable): ServiceClient["Service"] => {
  const fail = () => Effect.fail(error)
  const found = Effect.fail(http.lostFor(error))
  return ServiceClient.of({
    state: Effect.succeed(missing),
    changes: Stream.succeed(missing),
    launch: fail,
    reconnect: fail,
    ensure: fail,
    http: http.make(
      HttpClient.make(() => Effect.die("not reached")),
      { known: Effect.undefined, found }
    ),
    follow: (source) => follow(source, Effect.succeed("")),
    stop: () => Effect.succeed(stopping.refusedFor(error)),
    restart: () => Effect.succeed(stopping.refusedFor(error))
  })
}

const readyOf = ({ health, session }: Usable): Ready => ({
  url: session.registration.url,
  version: health.version,
  pid: health.pid,
  instanceID: health.instanceID
})

const make = Effect.fnUntraced(function* (spec: ServiceSpec, paths: ServicePaths, access: Access) {
  const spawner = yield* Spawner
  const base = yield* HttpClient.HttpClient
  const state = yield* makeShownState(yield* Discovery, yield* connections.displaced)
  const { current, discovery, publish, seen } = state
  let diagnostic = ""
  const note = (text: string) => Effect.sync(() => void (diagnostic = text))
  const around = { spec, paths, discovery, spawner, publish, note }
  const watching = yield* RcRef.make({ acquire: Effect.forkScoped(watch(state, paths)) })

  const intend = (mode: Intent["mode"], more?: Partial<Intent>): Intent => ({
    mode,
    maySpawn: access === "launch",
    accepts: () => true,
    maxSpawns: Number.POSITIVE_INFINITY,
    asked: false,
    ...more
  })
  const anyVersion = (intent: Intent, held?: stopping.SpawnLock) =>
    Effect.catchTag(connect(around, intent, spec.version, held), "VersionMismatch", Effect.die)

  const launch = Effect.fn("ServiceClient.launch")(function* (
    options?: Parameters<ServiceClient["Service"]["launch"]>[0]
  ) {
    const wanted = options?.version ?? spec.version
    const accepts = typeof wanted === "function" ? wanted : (found: string) => found === wanted
    return readyOf(
      yield* connect(
        around,
        intend("launch", { accepts, asked: options?.asked === true }),
        typeof wanted === "string" ? wanted : spec.version
      )
    )
  })
  const reconnect = Effect.fn("ServiceClient.reconnect")(function* () {
    return readyOf(yield* anyVersion(intend("reconnect")).pipe(Effect.catchTag("ServiceFailed", Effect.die)))
  })
  const ensure = Effect.fn("ServiceClient.ensure")(function* (
    options?: Parameters<ServiceClient["Service"]["ensure"]>[0]
  ) {
    diagnostic = ""
    const intent = intend("ensure", { maxSpawns: options?.maxSpawns ?? 3 })
    return yield* anyVersion(intent).pipe(
      Effect.map(readyOf),
      Effect.timeoutOrElse({ duration: options?.deadline ?? "10 seconds", orElse: () => notReady })
    )
  })
  const notReady = Effect.gen(function* () {
    const line = StatusText.line(yield* SubscriptionRef.get(current), spec)
    const words = diagnostic || whyNot(seen()) || line.text
    return yield* new ServiceNotReady({
      diagnostic: words,
      message: `${spec.title ?? spec.app} did not become ready: ${words}`,
      action: (words === line.text ? line.action : undefined) ?? `Run \`${spec.app} service logs\`.`
    })
  })

  const endpoint: http.Endpoint = {
    known: discovery.session,
    found:
      access === "observe"
        ? Effect.flatMap(
            Effect.orElseSucceed(discovery.look, () => undefined),
            (found) => (found?._tag === "Reachable" ? Effect.succeed(found.session) : http.lost("", "no"))
          )
        : anyVersion(intend("ensure")).pipe(
            Effect.map(({ session }) => session),
            Effect.catchIf(isDiagnosed, (error) => Effect.fail(http.lostFor(error)))
          )
  }
  const stopNow = Effect.fn("ServiceClient.stop")((see: typeof publish) =>
    stopping.stop(spec, paths, discovery, see).pipe(Effect.catch((error) => Effect.succeed(stopping.refusedFor(error))))
  )

  return ServiceClient.of({
    state: discovery.state.pipe(Effect.orElseSucceed(() => missing)),
    changes: Stream.unwrap(
      // a look first: what was seen when somebody followed last may be long ago
      Effect.ignore(Effect.flatMap(discovery.look, publish)).pipe(
        Effect.andThen(RcRef.get(watching)),
        Effect.as(SubscriptionRef.changes(current))
      )
    ).pipe(Stream.changes),
    launch,
    reconnect,
    ensure,
    http: http.make(base, endpoint),
    follow: (source) =>
      follow(
        source,
        // only there an owner may be followed by another while it is frozen
        Effect.andThen(spec.policy === "fenced" ? RcRef.get(watching) : Effect.void, discovery.session).pipe(
          Effect.map((session) => session?.registration.instanceID ?? "")
        )
      ),
    stop: () => stopNow(publish),
    restart: Effect.fn("ServiceClient.restart")(function* () {
      let old: string | undefined
      const see = (found: Found) =>
        Effect.andThen(
          Effect.sync(() => (old ??= stopping.instanceIn(found))),
          publish(found)
        )
      const held = yield* stopping.holding(paths)
      const stopped = yield* stopNow(see)
      if (stopped._tag !== "Stopped" && stopped._tag !== "NotRunning") return stopped
      return stopping.restarted(spec, readyOf(yield* anyVersion(intend("launch", { asked: true }), held)), old)
    }, Effect.scoped)
  })
})

const isDiagnosed = (error: Diagnosed | ServiceFailed): error is Diagnosed => error._tag !== "ServiceFailed"
