/**
 * What an application may know and say of the service it runs in.
 *
 * @since 0.1.0
 */
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ServiceSpec } from "./ServiceSpec.ts"

/**
 * Provided to every application.
 *
 * **Details**
 *
 * - `epoch`: this owner's number, greater than every earlier one's; it can grow (see `Ownership`).
 * - `progress(text)`: what `starting` shows while the application boots; afterwards it does nothing.
 * - `stop`: ends the service gracefully, as a client's stop would; it returns at once.
 *
 * **When to use** In a layer or handler of the application: to say what a long boot does, to keep files beside the service's, or
 * to end the service.
 *
 * **Example**
 *
 * ```ts
 * import { ServiceInstance } from "@holdfast/lifecycle/ServiceInstance"
 * import * as Effect from "effect/Effect"
 *
 * export const load = Effect.gen(function*() {
 *   const service = yield* ServiceInstance
 *   yield* service.progress("Reading the index…")
 *   return service.paths.directory
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class ServiceInstance extends Context.Service<
  ServiceInstance,
  {
    readonly spec: ServiceSpec
    readonly paths: ServicePaths
    readonly instanceID: string
    readonly epoch: number
    readonly progress: (text: string) => Effect.Effect<void>
    readonly stop: Effect.Effect<void>
  }
>()("@holdfast/lifecycle/ServiceInstance") {}
