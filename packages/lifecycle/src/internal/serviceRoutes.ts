/** What the lifecycle shell answers itself: `/service/*`. */
import type * as Http from "node:http"
import * as Credential from "../Credential.ts"
import type { ServiceHealth } from "../ServiceHealth.ts"
import type { LifecycleEvent } from "./lifecycle.ts"
import { readJson, refuse, send } from "./reply.ts"
import type { Sessions } from "./session.ts"
import type { Uses } from "./uses.ts"

export interface ServiceRoutes {
  /** Answers a request for a path under `/service`. */
  readonly answer: (path: string, request: Http.IncomingMessage, response: Http.ServerResponse) => void
  /** Tells every open stream the health now. */
  readonly announce: () => void
  /** The last event has been told: every open stream ends. */
  readonly endStreams: () => void
}

const methods: Readonly<Record<string, "GET" | "POST">> = {
  "/service/session": "POST",
  "/service/stop": "POST",
  "/service/health": "GET",
  "/service/events": "GET"
}

export const make = (options: {
  readonly instanceID: string
  readonly drainMs: number
  readonly sessions: Sessions
  readonly health: () => ServiceHealth
  readonly isProved: (request: Http.IncomingMessage) => boolean
  readonly dispatch: (event: LifecycleEvent) => void
  readonly uses: Uses
}): ServiceRoutes => {
  const { dispatch, drainMs, health, instanceID, isProved, sessions, uses } = options
  const streams = new Set<Http.ServerResponse>()
  const tell = (stream: Http.ServerResponse) => stream.write(`event: status\ndata: ${JSON.stringify(health())}\n\n`)

  const openStream = (response: Http.ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" })
    tell(response)
    if (health().status.type === "stopping") return void response.end()
    streams.add(response)
    response.on("close", uses.begin())
    response.on("close", () => streams.delete(response))
  }

  const openSession = async (request: Http.IncomingMessage, response: Http.ServerResponse) => {
    const body = await readJson(request)
    if (body === "too_large") return refuse(response, "too_large", "The request is too large.")
    const { clientNonce, proof, serverNonce } = body ?? {}
    if (!Credential.isNonce(clientNonce)) return refuse(response, "bad_request", "A session starts with a nonce.")
    if (typeof serverNonce === "string" && typeof proof === "string") {
      const token = sessions.redeem(clientNonce, serverNonce, proof)
      return token === undefined
        ? refuse(response, "unauthenticated", "The proof does not hold.")
        : send(response, 200, { token, health: health() })
    }
    return body?.["instanceID"] === instanceID
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
    if (body["instanceID"] !== instanceID) {
      return refuse(response, "other_instance", "Another instance of the service is running.")
    }
    send(response, 202, { deadlineMs: drainMs })
    // the answer leaves before the stop takes this loop's time
    setImmediate(dispatch, { type: "StopAsked", ...(target === undefined ? {} : { targetVersion: target }) })
  }

  return {
    answer: (path, request, response) => {
      const method = methods[path]
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
    },
    announce: () => {
      for (const stream of streams) tell(stream)
    },
    endStreams: () => {
      for (const stream of streams) stream.end()
    }
  }
}
