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
import type * as Scope from "effect/Scope"
import { BootFailed } from "./BootFailed.ts"
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
 * An application that still needs `R`; only one that needs nothing can be run.
 *
 * **Details** `boot` builds it for one instance, for the life of the scope. It is called by the owner, and by
 * `layerInProcess`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Application<out R = never> extends Pipeable {
  readonly "~@holdfast/lifecycle/Application": (_: never) => R
  readonly boot: (
    instance: ServiceInstance["Service"]
  ) => Effect.Effect<HttpEffect, BootFailed, Scope.Scope | Ownership>
}

type AnyLayer = Layer.Layer<any, BootFailed, any>

const build = (
  routes: AnyLayer,
  services: AnyLayer
): Application<any> & { readonly routes: AnyLayer; readonly services: AnyLayer } => ({
  "~@holdfast/lifecycle/Application": (_) => _,
  routes,
  services,
  boot: (instance) =>
    Effect.gen(function* () {
      const platform = Layer.mergeAll(
        NodeHttpServer.layerHttpServices,
        Layer.succeed(ServiceInstance, instance),
        Layer.succeed(Ownership, yield* Ownership)
      )
      const context = yield* Layer.build(Layer.provideMerge(services, platform) as Layer.Layer<any, BootFailed>)
      const answer = yield* HttpRouter.toHttpEffect(Layer.provide(routes, reserved)).pipe(
        Effect.provideContext(context)
      )
      return Effect.updateContext(answer as HttpEffect, (request: Context.Context<any>) =>
        Context.merge(context, request)
      )
    }) as Effect.Effect<HttpEffect, BootFailed, Scope.Scope | Ownership>,
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
  build(routes, Layer.empty as unknown as AnyLayer)

/**
 * Gives an application services, for building its routes and for answering requests.
 *
 * **Gotchas** `Layer.provide` on the routes serves only their building; a service that a handler asks for must come
 * from here or from `HttpRouter.provideRequest`.
 *
 * @category combinators
 * @since 0.1.0
 */
export const provide =
  <S, SR>(services: Layer.Layer<S, BootFailed, SR>) =>
  <R>(self: Application<R>): Application<Exclude<R, S> | Exclude<SR, Provided>> => {
    const { routes, services: before } = self as ReturnType<typeof build>
    return build(routes, Layer.provideMerge(before, services))
  }
