/**
 * The minimal HTTP surface of an owner: bound before Effect and the application are loaded, there until the end.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import type * as Http from "node:http"
import * as Credential from "./Credential.ts"
import { onEventStream } from "./internal/eventStreams.ts"
import { initial, type LifecycleEvent, reduce } from "./internal/lifecycle.ts"
import { readJson, refuse, send } from "./internal/reply.ts"
import { isReserved, pathOf } from "./internal/reserved.ts"
import * as session from "./internal/session.ts"
import * as uses from "./internal/uses.ts"
import type { ServiceHealth } from "./ServiceHealth.ts"
import type { ServiceStatus } from "./ServiceStatus.ts"

// an ESM import of node:http costs 24 ms and 14 MB, since it loads undici
const http = process.getBuiltinModule("node:http")

/**
 * Handles one request of the application.
 *
 * @category models
 * @since 0.1.0
 */
export type Handler = (request: Http.IncomingMessage, response: Http.ServerResponse) => void

/**
 * What a shell is made of. `drainMs` is what a stop is answered with; `port` 0 lets the system choose.
 *
 * @category models
 * @since 0.1.0
 */
export interface ShellOptions {
  readonly version: string
  readonly instanceID: string
  readonly secret: Credential.Secret
  readonly token: string
  readonly port: number
  readonly drainMs: number
}

/**
 * A bound shell.
 *
 * **Details**
 *
 * - `dispatch`: tells the lifecycle what happened; late events change nothing.
 * - `mount`: the application's handler, used while the status is `ready`.
 * - `guard`: asked before each request of the application; where the owner is not provably recent, the request waits
 *   until it has renewed, and is refused when it was superseded.
 * - `onStop`: called once, when the first stop is accepted, whoever asked.
 * - `subscribe`: each new status from now on.
 * - `uses`: the application's requests from begin to end, and every stream; a look at the health is none.
 * - `drained`: no request of the application is being answered any more.
 * - `close`: unbinds and cuts what is still connected.
 *
 * @category models
 * @since 0.1.0
 */
export interface LifecycleShell {
  readonly url: string
  readonly instanceID: string
  readonly status: () => ServiceStatus
  readonly dispatch: (event: LifecycleEvent) => void
  readonly mount: (handler: Handler) => void
  readonly guard: (isRecent: () => boolean, renew: () => Promise<boolean>) => void
  readonly subscribe: (listener: (status: ServiceStatus) => void) => () => void
  readonly onStop: (listener: () => void) => void
  readonly uses: Pick<uses.Uses, "subscribe">
  readonly drained: () => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * Binds the shell on 127.0.0.1. Rejects with the system's error; then nothing is bound.
 *
 * **Details** Answers `GET /service/health`, `GET /service/events`, `POST /service/session` and `POST /service/stop`;
 * `/service/*` never reaches the application. Everything else gets an immediate 503 until the application is ready.
 * Requests from a browser (`Origin`) or for another host are refused before anything else is looked at.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = async (options: ShellOptions): Promise<LifecycleShell> => {
  let status: ServiceStatus = initial
  let handler: Handler | undefined
  let isRecent = () => true
  let renew = () => Promise.resolve(true)
  const listeners = new Set<(status: ServiceStatus) => void>()
  const stops = new Set<() => void>()
  const streams = new Set<Http.ServerResponse>()
  const answering = new Set<Http.ServerResponse>()
  const endless = new Set<Http.ServerResponse>()
  const drains = new Set<() => void>()
  const used = uses.make()

  const health = (): ServiceHealth => ({
    healthy: true,
    version: options.version,
    pid: process.pid,
    instanceID: options.instanceID,
    status
  })
  const tell = (stream: Http.ServerResponse) => stream.write(`event: status\ndata: ${JSON.stringify(health())}\n\n`)

  const perform = {
    Announce: () => {
      for (const stream of streams) tell(stream)
      for (const listener of listeners) listener(status)
    },
    Stop: () => {
      for (const stream of streams) stream.end()
      // an event stream of the application never ends by itself: it would take the whole deadline from the others
      for (const response of endless) response.destroy()
      for (const stop of stops) stop()
    }
  }
  const dispatch = (event: LifecycleEvent) => {
    const [next, commands] = reduce(status, event)
    status = next
    for (const command of commands) perform[command]()
  }

  const server = http.createServer((request, response) => route(request, response))
  const endpoint = await bind(server, options.port)
  const sessions = session.make({ ...options, endpoint })
  const hosts = [endpoint, endpoint.replace("127.0.0.1", "localhost")].flatMap(
    (host) => (host.endsWith(":80") ? [host, host.slice(0, -3)] : [host]) // clients leave the default port out
  )

  const openStream = (response: Http.ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" })
    tell(response)
    if (status.type === "stopping") return void response.end()
    streams.add(response)
    response.on("close", used.begin())
    response.on("close", () => streams.delete(response))
  }

  const openSession = async (request: Http.IncomingMessage, response: Http.ServerResponse) => {
    const body = await readJson(request)
    if (body === "too_large") return refuse(response, "too_large", "The request is too large.")
    const { clientNonce, instanceID, proof, serverNonce } = body ?? {}
    if (!Credential.isNonce(clientNonce)) return refuse(response, "bad_request", "A session starts with a nonce.")
    if (typeof serverNonce === "string" && typeof proof === "string") {
      const token = sessions.redeem(clientNonce, serverNonce, proof)
      return token === undefined
        ? refuse(response, "unauthenticated", "The proof does not hold.")
        : send(response, 200, { token, health: health() })
    }
    return instanceID === options.instanceID
      ? send(response, 200, sessions.challenge(clientNonce))
      : refuse(response, "other_instance", "Another instance of the service is running.")
  }

  const acceptStop = async (request: Http.IncomingMessage, response: Http.ServerResponse) => {
    const body = await readJson(request)
    if (body === "too_large") return refuse(response, "too_large", "The request is too large.")
    const target = body?.["targetVersion"]
    if (body === undefined || (target !== undefined && typeof target !== "string")) {
      return refuse(response, "bad_request", "A stop names the instance it is for.")
    }
    if (body["instanceID"] !== options.instanceID) {
      return refuse(response, "other_instance", "Another instance of the service is running.")
    }
    send(response, 202, { deadlineMs: options.drainMs })
    // the answer leaves before the stop takes this loop's time
    setImmediate(dispatch, { type: "StopAsked", ...(target === undefined ? {} : { targetVersion: target }) })
  }

  const routeService = (path: string, request: Http.IncomingMessage, response: Http.ServerResponse) => {
    const method = {
      "/service/session": "POST",
      "/service/stop": "POST",
      "/service/health": "GET",
      "/service/events": "GET"
    }[path]
    if (method !== undefined && method !== request.method) {
      return refuse(response, "method_not_allowed", `Use ${method}.`)
    }
    if (path === "/service/session") return void openSession(request, response)
    if (!isProved(request)) return refuse(response, "unauthenticated", "Open a session first.")
    switch (path) {
      case "/service/health":
        return send(response, 200, health())
      case "/service/events":
        return openStream(response)
      case "/service/stop":
        return void acceptStop(request, response)
      default:
        return refuse(response, "not_found", "There is no such path under /service/.")
    }
  }

  const isProved = (request: Http.IncomingMessage): boolean => {
    const token = request.headers[Credential.tokenHeader]
    return typeof token === "string" && sessions.accepts(token)
  }

  const unavailable = (request: Http.IncomingMessage, response: Http.ServerResponse) => {
    switch (status.type) {
      case "failed":
        // the application's words are for those who proved that they are this user
        return isProved(request)
          ? refuse(response, "service_failed", status.message, status.action)
          : refuse(response, "service_failed", "The service could not start.")
      case "stopping":
        return refuse(response, "service_stopping", "The service is stopping.")
      case "ready": // superseded in this moment: the stop follows
        return refuse(response, "service_stopping", "The service is stopping.")
      case "starting":
        return refuse(response, "service_starting", "The service is starting.")
    }
  }

  const route = (request: Http.IncomingMessage, response: Http.ServerResponse): void => {
    if (request.headers.origin !== undefined)
      return refuse(response, "browser_origin", "Web pages may not use this service.")
    if (!hosts.includes(request.headers.host ?? ""))
      return refuse(response, "foreign_host", "This service is not that host.")
    const path = pathOf(request.url ?? "/")
    if (isReserved(path)) return routeService(path, request, response)
    if (status.type !== "ready" || handler === undefined) return unavailable(request, response)
    if (!isProved(request)) return refuse(response, "unauthenticated", "Open a session first.")
    response.on("close", used.begin())
    if (isRecent()) return answer(handler, request, response)
    void renew().then((owns) =>
      owns && status.type === "ready" && handler !== undefined
        ? answer(handler, request, response)
        : unavailable(request, response)
    )
  }

  const answer = (handle: Handler, request: Http.IncomingMessage, response: Http.ServerResponse): void => {
    forgetToken(request)
    answering.add(response)
    onEventStream(response, () => endless.add(response))
    response.on("close", () => {
      answering.delete(response)
      endless.delete(response)
      if (answering.size > 0) return
      for (const drained of drains) drained()
      drains.clear()
    })
    handle(request, response)
  }

  return {
    url: `http://${endpoint}`,
    instanceID: options.instanceID,
    status: () => status,
    dispatch,
    guard: (...guards) => {
      ;[isRecent, renew] = guards
    },
    mount: (next) => {
      handler = next
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    onStop: (listener) => {
      if (status.type === "stopping") listener()
      else stops.add(listener)
    },
    uses: used,
    drained: () => (answering.size === 0 ? Promise.resolve() : new Promise((resolve) => drains.add(resolve))),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

/** The application never sees the token: `headers` and `headersDistinct` are both made from the raw ones. */
const forgetToken = (request: Http.IncomingMessage): void => {
  const { headers, headersDistinct, rawHeaders } = request // the getters read the raw ones, so before they change
  delete headers[Credential.tokenHeader]
  delete headersDistinct[Credential.tokenHeader]
  for (let index = rawHeaders.length - 2; index >= 0; index -= 2) {
    if (rawHeaders[index]!.toLowerCase() === Credential.tokenHeader) rawHeaders.splice(index, 2)
  }
}

/** Binds and answers `host:port`. */
const bind = (server: Http.Server, port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => {
      server.off("error", reject)
      const address = server.address()
      resolve(`127.0.0.1:${typeof address === "object" && address !== null ? address.port : port}`)
    })
  })
