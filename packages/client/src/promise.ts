/**
 * The same client for programs without Effect: promises, async iterables, and a value to read at any time.
 *
 * @since 0.1.0
 */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { type AnyEvent, makeParser } from "effect/encoding/Sse"
import * as Exit from "effect/Exit"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import type { HttpMethod } from "effect/http/HttpMethod"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Stream from "effect/Stream"
import { type Ready, type RestartOutcome, ServiceClient, type StopOutcome } from "./ServiceClient.ts"
import { missing, type ServiceState } from "./ServiceState.ts"
import { resumed } from "./internal/resume.ts"
import { idempotent } from "./Transport.ts"

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
 * An event of an application's own stream. `"reopened"` comes first on each instance: take a fresh snapshot then.
 *
 * @category models
 * @since 0.1.0
 */
export interface ServiceEvent {
  readonly event: string
  readonly data: unknown
}

/**
 * `ServiceClient` as promises. They reject with the same tagged errors, which have `message` and `action`.
 *
 * **Details**
 *
 * - `current` and `subscribe` fit React's `useSyncExternalStore` and Solid's `from`: the value is the same object until
 *   it changes. Following begins with the first `subscribe`, `status`, `launch`, `reconnect` or `ensure`.
 * - `fetch` takes a path; it waits while the service starts and moves to a new owner by itself. A request that may have
 *   landed is sent again only when its method, or `idempotent`, allows it.
 * - `dispose` ends everything this client does; the service stays.
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
  subscribe(listener: () => void): () => void
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
 * @category constructors
 * @since 0.1.0
 */
export const fromEffect = (context: Context.Context<ServiceClient>): PromiseServiceClient =>
  make({ context: () => Promise.resolve(context), dispose: () => Promise.resolve() })

const make = (running: Running): PromiseServiceClient => {
  let state = missing
  let following: Promise<void> | undefined
  const listeners = new Set<() => void>()
  const disposed = new AbortController()
  const until = (signal: AbortSignal | null | undefined): AbortSignal =>
    signal ? AbortSignal.any([signal, disposed.signal]) : disposed.signal

  const run = async <A, E>(effect: Effect.Effect<A, E, ServiceClient>, signal: AbortSignal): Promise<A> => {
    signal.throwIfAborted()
    const context = await running.context()
    const exit = await Effect.runPromiseExitWith(context)(effect, { signal })
    if (Exit.isSuccess(exit)) return exit.value
    signal.throwIfAborted()
    return Effect.runPromise(exit)
  }
  const use = <A, E>(f: (service: ServiceClient["Service"]) => Effect.Effect<A, E>, call: Call | undefined) =>
    run(Effect.flatMap(ServiceClient, f), until(call?.signal))
  const iterateOver = <A>(
    stream: (service: ServiceClient["Service"]) => Stream.Stream<A, unknown>,
    call: Call | undefined
  ) => iterate(running, stream, until(call?.signal))

  const follow = () => {
    following ??= use(
      (service) =>
        Stream.runForEach(service.changes, (next) =>
          Effect.sync(() => {
            state = next
            for (const listener of listeners) listener()
          })
        ),
      undefined
    ).catch(() => undefined) // the call that comes next reports it
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
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    fetch: async (path, init) => {
      const signal = until(init?.signal)
      return run(await requestOf(path, init), signal).then((response) => responseOf(response, signal))
    },
    events: (path, options) => iterateOver((service) => eventsOf(service, path), options),
    dispose: async () => {
      listeners.clear()
      disposed.abort(new DOMException("The service client was disposed.", "AbortError"))
      await following
      await running.dispose()
    }
  }
}

/** The whole body is read first: it may have to be sent again, to the next owner. */
const requestOf = async (path: string, init: (RequestInit & { readonly idempotent?: boolean }) | undefined) => {
  const { idempotent: repeat, signal: _, ...rest } = init ?? {}
  // the host is only there because a Request needs one; the client puts the real address in front of the path
  const web = new Request(`http://service${path}`, rest)
  const body = new Uint8Array(await web.arrayBuffer())
  const bare = HttpClientRequest.make(web.method as HttpMethod)(path, { headers: Object.fromEntries(web.headers) })
  const request =
    web.body === null
      ? bare
      : HttpClientRequest.bodyUint8Array(bare, body, web.headers.get("content-type") ?? "application/octet-stream")
  const executed = Effect.flatMap(ServiceClient, (service) => service.http.execute(request))
  return repeat === true ? idempotent(executed) : executed
}

const responseOf = (response: HttpClientResponse, signal: AbortSignal): Response => {
  const body = [204, 205, 304].includes(response.status)
    ? null
    : Stream.toReadableStream(response.stream).pipeThrough(new TransformStream(), { signal })
  return new Response(body, { status: response.status, headers: { ...response.headers } })
}

/** An event stream over all instances: `reopened` whenever one begins, then what it sends. */
const eventsOf = (service: ServiceClient["Service"], path: string): Stream.Stream<ServiceEvent, unknown> => {
  const once = Stream.unwrap(
    Effect.gen(function* () {
      const response = yield* service.http.get(path, { headers: { accept: "text/event-stream" } })
      if (response.status !== 200)
        return Stream.fail(new Error(`${path} answered ${response.status}, not an event stream.`))
      const received: Array<ServiceEvent> = []
      const parser = makeParser((event: AnyEvent) => {
        if (event._tag === "Event") received.push({ event: event.event, data: parse(event.data) })
      })
      const events = response.stream.pipe(
        Stream.decodeText(),
        Stream.flatMap((chunk) => {
          parser.feed(chunk)
          return Stream.fromIterable(received.splice(0))
        })
      )
      return Stream.concat(Stream.succeed<ServiceEvent>({ event: "reopened", data: undefined }), events)
    })
  )
  return resumed(once)
}

/** Data is JSON where it is JSON, and text otherwise. */
const parse = (data: string): unknown => {
  try {
    return JSON.parse(data)
  } catch {
    return data
  }
}

async function* iterate<A>(
  running: Running,
  stream: (service: ServiceClient["Service"]) => Stream.Stream<A, unknown>,
  signal: AbortSignal
): AsyncGenerator<A> {
  signal.throwIfAborted()
  const context = await running.context()
  const source = Stream.unwrap(Effect.map(ServiceClient, stream))
  const iterator = Stream.toAsyncIterableWith(source, context)[Symbol.asyncIterator]()
  /** A promise of its own for each item: one that lives as long as the iteration would keep every item that it raced. */
  const next = () =>
    new Promise<IteratorResult<A>>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const abort = () => reject(signal.reason)
      signal.addEventListener("abort", abort, { once: true })
      iterator
        .next()
        .then(resolve, reject)
        .finally(() => signal.removeEventListener("abort", abort))
    })
  try {
    while (true) {
      const item = await next()
      if (item.done === true) return
      yield item.value
    }
  } finally {
    iterator.return?.().catch(() => undefined)
  }
}
