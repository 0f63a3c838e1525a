/** The application's requests in flight: until when a stop waits, and which of them never end by themselves. */
import type * as Http from "node:http"
import type { Duplex } from "node:stream"
import { onEventStream } from "./eventStreams.ts"

export interface Answering {
  /** A request is being answered until its response is closed. */
  readonly begin: (response: Http.ServerResponse) => void
  /** A connection that left HTTP, as a WebSocket's. */
  readonly upgraded: (socket: Duplex) => void
  /** Ends what never ends by itself: it would take the whole deadline from the others. */
  readonly endEndless: () => void
  /**
   * Cuts the connections of requests that have no whole answer yet: who asked knows that it may have been done. An
   * interrupted handler would answer an empty 503 in the application's name.
   */
  readonly cutOff: () => void
  /** Cuts connections that left HTTP, which the server does not know any more. */
  readonly cut: () => void
  /** Resolves when nothing is being answered. */
  readonly drained: () => Promise<void>
}

/**
 * Ends an event stream cleanly in the middle of the application's writing: what it still writes goes nowhere. A reader
 * sees the end of the stream, and drops an event that was not complete, as the format asks.
 */
const endStream = (response: Http.ServerResponse): void => {
  response.end()
  response.write = () => true
  response.end = () => response
}

export const make = (): Answering => {
  const open = new Set<object>()
  const responses = new Set<Http.ServerResponse>()
  const endless = new Map<object, () => void>()
  const sockets = new Set<Duplex>()
  const waiting = new Set<() => void>()
  const close = (one: object) => {
    open.delete(one)
    endless.delete(one)
    if (open.size > 0) return
    for (const resolve of waiting) resolve()
    waiting.clear()
  }
  return {
    begin: (response) => {
      open.add(response)
      responses.add(response)
      onEventStream(response, () => endless.set(response, () => endStream(response)))
      response.on("close", () => {
        responses.delete(response)
        close(response)
      })
    },
    upgraded: (socket) => {
      open.add(socket)
      sockets.add(socket)
      endless.set(socket, () => socket.end())
      socket.on("close", () => {
        sockets.delete(socket)
        close(socket)
      })
    },
    endEndless: () => {
      for (const end of endless.values()) end()
    },
    cutOff: () => {
      for (const response of responses) if (!response.writableEnded) response.socket?.destroy()
    },
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    drained: () => (open.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.add(resolve)))
  }
}
