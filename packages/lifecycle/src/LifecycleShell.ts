/**
 * The minimal HTTP surface of an owner: bound before Effect and the application are loaded, there until the end.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import type * as Http from "node:http"
import * as Credential from "./Credential.ts"
import type { Duplex } from "node:stream"
import { make as makeAnswering } from "./internal/answering.ts"
import { track } from "./internal/connections.ts"
import { listen } from "./internal/listen.ts"
import { initial, type LifecycleEvent, reduce } from "./internal/lifecycle.ts"
import { type Refused, refuse, refuseConnection } from "./internal/reply.ts"
import { isReserved, pathOf } from "./internal/reserved.ts"
import { make as makeRoutes } from "./internal/serviceRoutes.ts"
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
 * Handles one request of the application that wants to leave HTTP, as a WebSocket's does.
 *
 * @category models
 * @since 0.1.0
 */
export type UpgradeHandler = (request: Http.IncomingMessage, socket: Duplex, head: Buffer) => void

/**
 * What a shell is made of. `drainMs` is what a stop is answered with; `port` 0, the default, lets the system
 * choose; with `socketPath` it is a Unix socket instead.
 *
 * @category models
 * @since 0.1.0
 */
export interface ShellOptions {
  readonly version: string
  readonly instanceID: string
  readonly secret: Credential.Secret
  readonly token: string
  readonly port?: number
  readonly socketPath?: string
  readonly drainMs: number
}

/**
 * A bound shell.
 *
 * **Details**
 *
 * - `dispatch`: tells the lifecycle what happened; late events change nothing.
 * - `answered`: somebody has been told the health.
 * - `mount`: the application's handlers, used while the status is `ready`.
 * - `guard`: asked before each request of the application; where the owner is not provably recent, the request waits
 *   until it has renewed, and is refused when it was superseded.
 * - `onStop`: called once, when the first stop is accepted, whoever asked.
 * - `subscribe`: each new status from now on.
 * - `uses`: the application's requests from begin to end, and every stream; a look at the health is none.
 * - `drained`: no request of the application is being answered any more. `cutOff`: cuts the connections of those that
 *   are.
 * - `reassert`: binds again a socket whose file was removed; `true` when it had to.
 * - `close`: refuses in words who is still on the way, unbinds, and ends what is connected; within half a second.
 *
 * @category models
 * @since 0.1.0
 */
export interface LifecycleShell {
  readonly url: string
  readonly instanceID: string
  readonly status: () => ServiceStatus
  readonly dispatch: (event: LifecycleEvent) => void
  readonly mount: (handler: Handler, upgrade?: UpgradeHandler) => void
  readonly answered: Promise<void>
  readonly guard: (isRecent: () => boolean, renew: () => Promise<boolean>) => void
  readonly subscribe: (listener: (status: ServiceStatus) => void) => () => void
  readonly onStop: (listener: () => void) => void
  readonly uses: Pick<uses.Uses, "subscribe">
  readonly drained: () => Promise<void>
  readonly cutOff: () => void
  readonly reassert: () => boolean
  readonly close: () => Promise<void>
}

/**
 * Binds the shell on 127.0.0.1, or on a Unix socket. Rejects with the system's error; then nothing is bound.
 *
 * **Details** Answers `GET /service/health`, `GET /service/events`, `POST /service/session` and `POST /service/stop`;
 * `/service/*` never reaches the application. Everything else gets an immediate 503 until the application is ready.
 * Requests from a browser (`Origin`) or for another host are refused before anything else is looked at.
 *
 * **When to use** Below `runDaemon` and `ManagedService`, which do this and all around it: lock, lease, secret and
 * registration are not looked at here.
 *
 * **Example**
 *
 * ```ts
 * import * as Credential from "@holdfast/lifecycle/Credential"
 * import { open } from "@holdfast/lifecycle/LifecycleShell"
 *
 * export const serve = async (secret: Credential.Secret, instanceID: string): Promise<string> => {
 *   const token = Credential.random()
 *   const shell = await open({ version: "1.0.0", instanceID, secret, token, drainMs: 1000 })
 *   shell.onStop(() => void shell.drained().then(shell.close))
 *   shell.mount((_request, response) => response.end("hello"))
 *   shell.dispatch({ type: "Booted" })
 *   return shell.url
 * }
 * ```
 *
 * Source: DESIGN §2 "LifecycleShell" and §4.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = async (options: ShellOptions): Promise<LifecycleShell> => {
  let status: ServiceStatus = initial
  let application: { readonly handler: Handler; readonly upgrade: UpgradeHandler | undefined } | undefined
  let isRecent = () => true
  let renew = () => Promise.resolve(true)
  const listeners = new Set<(status: ServiceStatus) => void>()
  const stops = new Set<() => void>()
  const answering = makeAnswering()
  const used = uses.make()

  const health = (): ServiceHealth => ({
    healthy: true,
    version: options.version,
    pid: process.pid,
    instanceID: options.instanceID,
    status
  })
  const perform = {
    Announce: () => {
      routes.announce()
      for (const listener of listeners) listener(status)
    },
    Stop: () => {
      routes.endStreams()
      answering.endEndless()
      for (const stop of stops) stop()
    }
  }
  const dispatch = (event: LifecycleEvent) => {
    const [next, commands] = reduce(status, event)
    status = next
    for (const command of commands) perform[command]()
  }

  const server = http.createServer((request, response) => route(request, response))
  const connections = track(server)
  let first: () => void = () => undefined
  const answered = new Promise<void>((resolve) => (first = resolve))
  /** The challenge of a handshake tells nobody anything yet. */
  const tellHealth = (): ServiceHealth => {
    setImmediate(first) // the answer has been written by then
    return health()
  }
  server.on("upgrade", (request, socket, head) => upgrade(request, socket, head))
  const { endpoint, hosts, reassert, url } = await listen(server, options)
  const sessions = session.make({ ...options, endpoint })
  const isProved = (request: Http.IncomingMessage): boolean => {
    const token = request.headers[Credential.tokenHeader]
    return typeof token === "string" && sessions.accepts(token)
  }
  const routes = makeRoutes({ ...options, sessions, health: tellHealth, isProved, dispatch, uses: used })

  const unavailable = (request: Http.IncomingMessage): Refused => {
    switch (status.type) {
      case "failed":
        // the application's words are for those who proved that they are this user
        return isProved(request)
          ? ["service_failed", status.message, status.action]
          : ["service_failed", "The service could not start."]
      case "starting":
        return ["service_starting", "The service is starting."]
      case "stopping":
      case "ready": // superseded in this moment: the stop follows
        return ["service_stopping", "The service is stopping."]
    }
  }

  /** Who may not come in at all, whatever is asked. */
  const stranger = ({ headers }: Http.IncomingMessage): Refused | undefined =>
    headers.origin !== undefined
      ? ["browser_origin", "Web pages may not use this service."]
      : hosts.includes(headers.host ?? "")
        ? undefined
        : ["foreign_host", "This service is not that host."]

  /** Gives the request to the application, or says why not; where the owner is not provably recent it renews first. */
  const admit = (
    request: Http.IncomingMessage,
    connection: { readonly on: (event: "close", listener: () => void) => unknown },
    use: (mounted: NonNullable<typeof application>) => void,
    refused: (why: Refused) => void
  ): void => {
    const enter = (owns: boolean) => {
      if (!owns || status.type !== "ready" || application === undefined) return refused(unavailable(request))
      forgetToken(request)
      use(application)
    }
    if (status.type !== "ready") return enter(false)
    if (!isProved(request)) return refused(["unauthenticated", "Open a session first."])
    connection.on("close", used.begin())
    if (isRecent()) return enter(true)
    void renew().then(enter)
  }

  const route = (request: Http.IncomingMessage, response: Http.ServerResponse): void => {
    const refused = (why: Refused) => refuse(response, ...why)
    const outside = stranger(request)
    if (outside !== undefined) return refused(outside)
    const path = pathOf(request.url ?? "/")
    if (isReserved(path)) return routes.answer(path, request, response)
    const use = ({ handler }: NonNullable<typeof application>) => {
      answering.begin(response)
      handler(request, response)
    }
    admit(request, response, use, refused)
  }

  const upgrade = (request: Http.IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on("error", () => socket.destroy())
    const refused = (why: Refused) => refuseConnection(socket, ...why)
    const outside = stranger(request)
    if (outside !== undefined) return refused(outside)
    if (isReserved(pathOf(request.url ?? "/"))) return refused(["not_found", "Nothing under /service/ is upgraded."])
    const use = ({ upgrade: handle }: NonNullable<typeof application>) => {
      if (handle === undefined) return refused(["not_found", "The application upgrades no connection."])
      answering.upgraded(socket)
      handle(request, socket, head)
    }
    admit(request, socket, use, refused)
  }

  return {
    url,
    instanceID: options.instanceID,
    status: () => status,
    dispatch,
    answered,
    guard: (...guards) => {
      ;[isRecent, renew] = guards
    },
    mount: (handler, upgrades) => {
      application = { handler, upgrade: upgrades }
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
    drained: answering.drained,
    cutOff: answering.cutOff,
    reassert,
    close: () => {
      answering.cut()
      return connections.close(patienceMs)
    }
  }
}

/** How long those who come late, or have connected and not asked yet, are refused in words, in milliseconds. */
const patienceMs = 500

/** The application never sees the token: `headers` and `headersDistinct` are both made from the raw ones. */
const forgetToken = (request: Http.IncomingMessage): void => {
  const { headers, headersDistinct, rawHeaders } = request // the getters read the raw ones, so before they change
  delete headers[Credential.tokenHeader]
  delete headersDistinct[Credential.tokenHeader]
  for (let index = rawHeaders.length - 2; index >= 0; index -= 2) {
    if (rawHeaders[index]!.toLowerCase() === Credential.tokenHeader) rawHeaders.splice(index, 2)
  }
}
