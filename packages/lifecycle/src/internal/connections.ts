/** Closing a server without cutting off who has connected and is about to ask: it could not know that nothing landed. */
import type * as Http from "node:http"
import type { Socket } from "node:net"

export interface Connections {
  /**
   * Takes in who is connected already, then nobody new; cuts who is still being answered, and gives connections that
   * have asked nothing yet this long, in milliseconds, to ask and be refused in words. Resolves when none is left.
   */
  readonly close: (patienceMs: number) => Promise<void>
}

export const track = (server: Http.Server): Connections => {
  const open = new Set<Socket>()
  const silent = new Set<Socket>()
  let accepted = 0
  server.on("connection", (socket: Socket) => {
    accepted++
    open.add(socket)
    silent.add(socket)
    socket.on("close", () => {
      open.delete(socket)
      silent.delete(socket)
    })
  })
  server.on("request", ({ socket }: Http.IncomingMessage) => silent.delete(socket))
  server.on("upgrade", ({ socket }: Http.IncomingMessage) => silent.delete(socket))
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
        const waitsFor = [...silent]
        server.close(() => resolve()) // from here on each answer ends its connection
        for (const socket of open) if (!silent.has(socket)) socket.destroy()
        setTimeout(() => {
          for (const socket of waitsFor) socket.destroy()
        }, patienceMs).unref()
      })
    }
  }
}
