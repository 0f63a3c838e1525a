/** Closing a server without cutting off who has connected and is about to ask: it could not know that nothing landed. */
import type * as Http from "node:http"
import type { Socket } from "node:net"
import { refuseConnection } from "./reply.ts"

export interface Connections {
  /**
   * Takes in who is on the way, then nobody new, and cuts who is still being answered. Who has asked nothing yet may ask,
   * and be refused in words, until this many milliseconds have passed in all; who does not, and who is between two
   * requests, is refused unasked: what it sends too late finds its answer there. Resolves when no connection is left.
   */
  readonly close: (patienceMs: number) => Promise<void>
}

/** How long a request may be on its way from a client that still found the registration. */
const quietMs = 15

/** By its last request; `silent`: there was none. */
type State = "silent" | "upgraded" | Http.ServerResponse

const isBetween = (state: State): boolean => typeof state === "object" && state.writableFinished

/** An answer that is there before the request is that request's, and says that it was not read. */
const refuse = (socket: Socket): void => {
  if (socket.writable) refuseConnection(socket, "service_stopping", "The service is stopping.")
  socket.destroySoon()
}

const end = (socket: Socket, state: State): void => {
  if (state === "silent" || isBetween(state)) refuse(socket)
  else socket.destroy()
}

export const track = (server: Http.Server): Connections => {
  const open = new Map<Socket, State>()
  let accepted = 0
  server.on("connection", (socket: Socket) => {
    accepted++
    open.set(socket, "silent")
    socket.on("close", () => open.delete(socket))
  })
  server.on("request", ({ socket }: Http.IncomingMessage, response: Http.ServerResponse) => open.set(socket, response))
  server.on("upgrade", ({ socket }: Http.IncomingMessage) => open.set(socket, "upgraded"))
  /**
   * Closing resets whoever waits to be accepted, and who found the service before it left may still be on the way: so
   * until nobody has come for a while. A machine on which this loop is late is one on which they are, too.
   */
  const everybodyIn = async (until: number): Promise<void> => {
    for (let quiet = false; !quiet && performance.now() < until;) {
      const before = accepted
      const at = performance.now()
      await new Promise((next) => setTimeout(next, quietMs))
      for (let turn = 0; turn < 3; turn++) await new Promise((next) => setImmediate(next)) // each accepts one
      quiet = accepted === before && performance.now() - at < 2 * quietMs
    }
  }
  return {
    close: async (patienceMs) => {
      const until = performance.now() + patienceMs
      await everybodyIn(until - patienceMs / 2)
      return new Promise((resolve) => {
        for (const [socket, state] of open) if (state !== "silent") end(socket, state)
        server.close(() => resolve()) // from here on each answer ends its connection
        setTimeout(() => {
          for (const [socket, state] of open) end(socket, state)
        }, until - performance.now()).unref()
      })
    }
  }
}
