/**
 * The same client for programs without Effect: promises, async iterables, and a value to read at any time.
 *
 * @since 0.1.0
 */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Stream from "effect/Stream"
import { abortable } from "./internal/abortable.ts"
import { iterate } from "./internal/iterate.ts"
import { presentable } from "./internal/presentable.ts"
import { serverEvents, type ServiceEvent } from "./internal/serverEvents.ts"
import { requestOf, responseOf } from "./internal/webFetch.ts"
import { type Ready, type RestartOutcome, ServiceClient, type StopOutcome } from "./ServiceClient.ts"
import { missing, type ServiceState } from "./ServiceState.ts"
import { idempotent } from "./Transport.ts"

export type { ServiceEvent } from "./internal/serverEvents.ts"

/**
 * Every call takes a signal; when it is aborted the call rejects with the signal's reason.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call {
  readonly signal?: AbortSignal
}

/**
 * `ServiceClient` as promises. They reject with the same tagged errors, and with no other: each has `message` and
 * `action`, a defect too. A call that was aborted rejects with its signal's reason.
 *
 * **Details**
 *
 * - `current` and `subscribe` fit React's `useSyncExternalStore` and Solid's `from`: the value is the same object until
 *   it changes. Following begins with the first `subscribe`, `status`, `events`, `launch`, `reconnect` or `ensure`.
 * - `subscribe` calls the listener with each new state, and not with the present one. What a listener throws is thrown
 *   by itself, as with an `EventTarget`: the others are told all the same.
 * - `fetch` takes a path; it waits while the service starts and moves to a new owner by itself. A request that may have
 *   landed is sent again only when its method, or `idempotent`, allows it. It waits for its answer as long as the
 *   application takes, also when that stands still: give it a signal, and show `current`, which then says `unresponsive`.
 * - `events`: an event stream of the application over all instances; `"reopened"` comes first on each: take a fresh
 *   snapshot then.
 * - `dispose` ends everything this client does, and lets the process end; the service stays.
 *
 * @category models
 * @since 0.1.0
 */
export interface PromiseServiceClient {
  launch(options?: Call & { readonly version?: string }): Promise<Ready>
  reconnect(options?: Call): Promise<Ready>
  ensure(options?: Call & { readonly deadlineMs?: number }): Promise<Ready>
  restart(options?: Call): Promise<RestartOutcome>
  stop(options?: Call): Promise<StopOutcome>
  status(options?: Call): AsyncIterable<ServiceState>
  current(): ServiceState
  subscribe(listener: (state: ServiceState) => void): () => void
  fetch(path: `/${string}`, init?: RequestInit & { readonly idempotent?: boolean }): Promise<Response>
  events(path: `/${string}`, options?: Call): AsyncIterable<ServiceEvent>
  dispose(): Promise<void>
}

type Services = Context.Context<ServiceClient>

interface Running {
  readonly context: () => Promise<Services>
  readonly dispose: () => Promise<void>
}

/**
 * A client with a runtime of its own.
 *
 * **Example**
 *
 * ```ts
 * import { createServiceClient } from "@holdfast/client/promise"
 * import { define } from "@holdfast/lifecycle/ServiceSpec"
 *
 * const spec = define({ app: "hello", version: "1.0.0", entry: new URL("./daemon.ts", import.meta.url) })
 *
 * export const hello = async () => {
 *   const service = createServiceClient(spec)
 *   try {
 *     await service.launch()
 *     return await (await service.fetch("/hello")).text()
 *   } finally {
 *     await service.dispose()
 *   }
 * }
 * ```
 *
 * **When to use** In a program without Effect. It does nothing until it is asked to; call `dispose` at the end.
 *
 * @category constructors
 * @since 0.1.0
 */
export const createServiceClient = (spec: ServiceSpec): PromiseServiceClient => {
  const runtime = ManagedRuntime.make(ServiceClient.layer(spec))
  return make({ context: () => runtime.context(), dispose: () => runtime.dispose() })
}

/**
 * Promises over a client that the caller's Effect program owns: Effect outside, promises in the user interface.
 *
 * **When to use** In a program of Effect with a user interface that is not: one client, one runtime.
 *
 * **Gotchas** `dispose` ends what was begun through these promises; the client itself stays the program's.
 *
 * **Example**
 *
 * ```ts
 * import { fromEffect } from "@holdfast/client/promise"
 * import type { ServiceClient } from "@holdfast/client/ServiceClient"
 * import * as Effect from "effect/Effect"
 *
 * export const forTheScreen = Effect.map(Effect.context<ServiceClient>(), fromEffect)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromEffect = (context: Context.Context<ServiceClient>): PromiseServiceClient =>
  make({ context: () => Promise.resolve(context), dispose: () => Promise.resolve() })

const make = (running: Running): PromiseServiceClient => {
  let state = missing
  let following: Promise<void> | undefined
  const listeners = new Set<{ readonly tell: (state: ServiceState) => void }>()
  const disposed = new AbortController()
  const until = (signal: AbortSignal | null | undefined): AbortSignal =>
    signal ? AbortSignal.any([signal, disposed.signal]) : disposed.signal

  const run = async <A, E>(effect: Effect.Effect<A, E, ServiceClient>, signal: AbortSignal): Promise<A> => {
    signal.throwIfAborted()
    const context = await abortable(running.context(), signal)
    const exit = await Effect.runPromiseExitWith(context)(effect, { signal })
    if (Exit.isSuccess(exit)) return exit.value
    signal.throwIfAborted()
    throw presentable(exit.cause)
  }
  const use = <A, E>(f: (service: ServiceClient["Service"]) => Effect.Effect<A, E>, call: Call | undefined) =>
    run(Effect.flatMap(ServiceClient, f), until(call?.signal))
  const iterateOver = <A>(
    stream: (service: ServiceClient["Service"]) => Stream.Stream<A, unknown>,
    call: Call | undefined
  ) => iterate(Stream.unwrap(Effect.map(ServiceClient, stream)), running.context, until(call?.signal))

  const tell = (next: ServiceState) => {
    state = next
    for (const listener of listeners) {
      try {
        listener.tell(next)
      } catch (error) {
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
  const follow = () => {
    following ??= use(
      (service) => Stream.runForEach(service.changes, (next) => Effect.sync(() => tell(next))),
      undefined
    ).catch(() => {
      following = undefined // the call that comes next reports it, or follows again
    })
  }
  const followed = <A>(call: () => A): A => {
    follow()
    return call()
  }

  return {
    launch: (options) => {
      const version = options?.version
      return followed(() => use((service) => service.launch(version === undefined ? {} : { version }), options))
    },
    reconnect: (options) => followed(() => use((service) => service.reconnect(), options)),
    ensure: (options) => {
      const deadline = options?.deadlineMs
      return followed(() => use((service) => service.ensure(deadline === undefined ? {} : { deadline }), options))
    },
    restart: (options) => use((service) => service.restart(), options),
    stop: (options) => use((service) => service.stop(), options),
    status: (options) => followed(() => iterateOver((service) => service.changes, options)),
    current: () => state,
    subscribe: (listener) => {
      follow()
      const one = { tell: listener } // the same function may be there twice, and leave once
      listeners.add(one)
      return () => void listeners.delete(one)
    },
    fetch: async (path, { idempotent: repeat, ...init } = {}) => {
      const signal = until(init.signal)
      signal.throwIfAborted()
      const request = await abortable(requestOf(path, init), signal)
      const executed = Effect.flatMap(ServiceClient, (service) => service.http.execute(request))
      return responseOf(await run(repeat === true ? idempotent(executed) : executed, signal), signal)
    },
    events: (path, options) => followed(() => iterateOver((service) => serverEvents(service.http, path), options)),
    dispose: async () => {
      listeners.clear()
      disposed.abort(new DOMException("The service client was disposed.", "AbortError"))
      await following
      await running.dispose()
    }
  }
}
