/** Closing a server without cutting off who has connected and is about to ask: it could not know that nothing landed. */
import type * as Http from "node:http"
import type { Socket } from "node:net"
import { refuseConnection } from "./reply.ts"

export interface Connections {
  /**
   * Takes in who is connected already, then nobody new, and cuts who is still being answered. Who has asked nothing yet
   * has this long, in milliseconds, to ask and be refused in words; who does not, and who is between two requests, is
   * refused unasked: what it sends too late finds its answer there. Resolves when no connection is left.
   */
  readonly close: (patienceMs: number) => Promise<void>
}

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
  /** Closing resets whoever waits to be accepted, and a turn of the loop accepts one: so turn until none came. */
  const everybodyIn = async (patienceMs: number): Promise<void> => {
    const until = performance.now() + patienceMs
    for (let quiet = 0; quiet < 3 && performance.now() < until;) {
      const before = accepted
      await new Promise((next) => setImmediate(next))
      quiet = accepted === before ? quiet + 1 : 0
    }
  }
  return {
    close: async (patienceMs) => {
      await everybodyIn(patienceMs)
      return new Promise((resolve) => {
        for (const [socket, state] of open) if (state !== "silent") end(socket, state)
        server.close(() => resolve()) // from here on each answer ends its connection
        setTimeout(() => {
          for (const [socket, state] of open) end(socket, state)
        }, patienceMs).unref()
      })
    }
  }
}
