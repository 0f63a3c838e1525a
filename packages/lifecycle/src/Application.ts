/**
 * What a service does, as routes with everything they need: a value that the owner boots.
 *
 * @since 0.1.0
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type * as NodeServices from "@effect/platform-node/NodeServices"
import { Ownership } from "@holdfast/lock/Ownership"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Etag from "effect/http/Etag"
import type * as HttpPlatform from "effect/http/HttpPlatform"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import * as Scope from "effect/Scope"
import { BootFailed } from "./BootFailed.ts"
import type { Continuity } from "./Continuity.ts"
import { type Continued, withContext } from "./internal/continuity.ts"
import { isReserved, pathOf } from "./internal/reserved.ts"
import { ServiceInstance } from "./ServiceInstance.ts"

export { BootFailed } from "./BootFailed.ts"

/**
 * What every application gets without providing it.
 *
 * @category models
 * @since 0.1.0
 */
export type Provided =
  | ServiceInstance
  | Ownership
  | HttpRouter.HttpRouter
  | HttpPlatform.HttpPlatform
  | Etag.Generator
  | NodeServices.NodeServices

/**
 * What routes that require `R` still need, while they are built and while they answer.
 *
 * @category models
 * @since 0.1.0
 */
export type Needs<R> = Exclude<
  HttpRouter.Request.Without<R> | HttpRouter.Request.Only<"Requires" | "GlobalRequires", R>,
  Provided | HttpRouter.Provided
>

/**
 * An application answers requests with this.
 *
 * @category models
 * @since 0.1.0
 */
export type HttpEffect = Effect.Effect<HttpServerResponse, unknown, HttpServerRequest | Scope.Scope>

/**
 * A booted application: what answers requests, and what it hands over to the next owner, if it does.
 *
 * @category models
 * @since 0.1.0
 */
export interface Booted {
  readonly answer: HttpEffect
  readonly continuity: Continued | undefined
}

/**
 * An application that still needs `R` and was given `S`; only one that needs nothing can be run.
 *
 * **Details** `boot` builds it for one instance, for the life of the scope, and answers requests without handing
 * anything over, as `layerInProcess` does; `start` is the owner's.
 *
 * @category models
 * @since 0.1.0
 */
export interface Application<out R = never, in S = never> extends Pipeable {
  readonly "~@holdfast/lifecycle/Application": (_: S) => R
  readonly boot: (
    instance: ServiceInstance["Service"]
  ) => Effect.Effect<HttpEffect, BootFailed, Scope.Scope | Ownership>
  readonly start: (instance: ServiceInstance["Service"]) => Effect.Effect<Booted, BootFailed, Scope.Scope | Ownership>
}

type AnyLayer = Layer.Layer<any, BootFailed, any>

interface Parts {
  readonly routes: AnyLayer
  readonly services: AnyLayer
  readonly continuity: Continuity<any, any, any> | "twice" | undefined
}

const build = ({ continuity, routes, services }: Parts): Application<any, any> & Parts => ({
  "~@holdfast/lifecycle/Application": (_) => _,
  routes,
  services,
  continuity,
  boot(instance) {
    return Effect.map(this.start(instance), ({ answer }) => answer)
  },
  start: (instance) =>
    Effect.gen(function* () {
      if (continuity === "twice") {
        return yield* new BootFailed({
          message: "The application hands over twice.",
          action: "Join both withContinuity into one, with Schema.Struct."
        })
      }
      const platform = Layer.mergeAll(
        NodeHttpServer.layerHttpServices,
        Layer.succeed(ServiceInstance, instance),
        Layer.succeed(Ownership, yield* Ownership)
      )
      const context = yield* Layer.build(Layer.provideMerge(services, platform) as Layer.Layer<any, BootFailed>)
      const answer = yield* HttpRouter.toHttpEffect(Layer.provide(routes, reserved)).pipe(
        Effect.provideContext(context)
      )
      return {
        answer: Effect.updateContext(answer as HttpEffect, (request: Context.Context<any>) =>
          Context.merge(context, request)
        ),
        continuity: continuity && withContext(continuity, Context.add(context, Scope.Scope, yield* Effect.scope))
      }
    }) as Effect.Effect<Booted, BootFailed, Scope.Scope | Ownership>,
  pipe() {
    return pipeArguments(this, arguments)
  }
})

/** The router as routes see it: it refuses paths that the lifecycle shell answers, which could never be reached. */
const reserved: Layer.Layer<HttpRouter.HttpRouter, never, HttpRouter.HttpRouter> = Layer.effect(
  HttpRouter.HttpRouter,
  Effect.map(HttpRouter.HttpRouter, (router) => reserve(router, ""))
)

const reserve = (router: HttpRouter.HttpRouter, prefix: string): HttpRouter.HttpRouter => {
  const refused = (path: string): boolean => isReserved(pathOf(`${prefix}/${path}`))
  const refuse = (path: string) =>
    Effect.die(
      new BootFailed({
        message: `The path ${prefix}${path} is reserved for the service itself.`,
        action: "Rename the application's route."
      })
    )
  return {
    ...router,
    prefixed: (more) => reserve(router.prefixed(more), prefix + more),
    add: (method, path, handler, options) =>
      refused(path) ? refuse(path) : router.add(method, path, handler, options),
    addAll: (routes) => {
      const first = routes.find((route) => refused(route.path))
      return first === undefined ? router.addAll(routes) : refuse(first.path)
    }
  }
}

/**
 * An application from routes: `HttpRouter.add`, `HttpApiBuilder.layer`, any layer that adds to the router.
 *
 * **Details** `BootFailed` is the only error a boot may end with. `/service/*` is the lifecycle shell's; a route there
 * fails the boot.
 *
 * **When to use** As the default export of the application's module, which only the owner imports.
 *
 * **Example**
 *
 * ```ts
 * import * as Application from "@holdfast/lifecycle/Application"
 * import * as Effect from "effect/Effect"
 * import { HttpRouter, HttpServerResponse } from "effect/http"
 *
 * export default Application.make(
 *   HttpRouter.add("GET", "/hello", Effect.succeed(HttpServerResponse.text("hello")))
 * )
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <A, R>(routes: Layer.Layer<A, BootFailed, R>): Application<Needs<R>> =>
  build({ routes, services: Layer.empty as unknown as AnyLayer, continuity: undefined })

/**
 * Gives an application services, for building its routes and for answering requests.
 *
 * **Gotchas** `Layer.provide` on the routes serves only their building; a service that a handler asks for must come
 * from here or from `HttpRouter.provideRequest`.
 *
 * **When to use** For whatever the routes need: a database, a cache, the application's own services. `BootFailed` is how such
 * a layer says that it cannot be had.
 *
 * **Example**
 *
 * ```ts
 * import * as Application from "@holdfast/lifecycle/Application"
 * import * as Context from "effect/Context"
 * import * as Effect from "effect/Effect"
 * import { HttpRouter, HttpServerResponse } from "effect/http"
 * import * as Layer from "effect/Layer"
 *
 * class Greeting extends Context.Service<Greeting, { readonly text: string }>()("hello/Greeting") {}
 *
 * export default Application.make(
 *   HttpRouter.add("GET", "/hello", Effect.map(Greeting, ({ text }) => HttpServerResponse.text(text)))
 * ).pipe(Application.provide(Layer.succeed(Greeting, { text: "hello" })))
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const provide =
  <S, SR>(services: Layer.Layer<S, BootFailed, SR>) =>
  <R, P>(self: Application<R, P>): Application<Exclude<R, S> | Exclude<SR, Provided>, P | S> => {
    const { services: before, ...rest } = self as ReturnType<typeof build>
    return build({ ...rest, services: Layer.provideMerge(before, services) })
  }

/**
 * Hands something over from an owner that stops gracefully to the next one, across an update too.
 *
 * **Details** `snapshot` and `resume` may use every service that the application is given, before or after, and the
 * application's scope: fork into it what goes on after `resume`. The rules are those of {@link Continuity}. In
 * `layerInProcess` neither is run.
 *
 * **Gotchas** One for each application: a second one fails the boot.
 *
 * **When to use** For work under way that a person would miss after an update: open sessions, a queue, a cursor.
 *
 * **Example**
 *
 * ```ts
 * import * as Application from "@holdfast/lifecycle/Application"
 * import * as Effect from "effect/Effect"
 * import { HttpRouter, HttpServerResponse } from "effect/http"
 * import * as Schema from "effect/Schema"
 *
 * const sessions = new Set<string>()
 *
 * export default Application.make(
 *   HttpRouter.add("GET", "/sessions", Effect.sync(() => HttpServerResponse.text([...sessions].join("\n"))))
 * ).pipe(
 *   Application.withContinuity({
 *     schema: Schema.Array(Schema.String),
 *     snapshot: Effect.sync(() => [...sessions]),
 *     resume: (ids) => Effect.sync(() => ids.forEach((id) => sessions.add(id)))
 *   })
 * )
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const withContinuity =
  <A, I, R2>(continuity: Continuity<A, I, R2>) =>
  <R, P>(self: Application<R, P>): Application<R | Exclude<R2, Provided | Scope.Scope | P>, P> => {
    const { continuity: before, ...rest } = self as ReturnType<typeof build>
    return build({ ...rest, continuity: before === undefined ? continuity : "twice" })
  }
