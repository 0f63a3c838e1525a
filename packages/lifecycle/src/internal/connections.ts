/** Closing a server without cutting off who has connected and is about to ask: it could not know that nothing landed. */
import type * as Http from "node:http"
import type { Socket } from "node:net"

export interface Connections {
  /**
   * Takes nobody new, cuts who is still being answered, and gives connections that have asked nothing yet this long, in
   * milliseconds, to ask and be refused in words. Resolves when none is left.
   */
  readonly close: (patienceMs: number) => Promise<void>
}

export const track = (server: Http.Server): Connections => {
  const open = new Set<Socket>()
  const silent = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    open.add(socket)
    silent.add(socket)
    socket.on("close", () => {
      open.delete(socket)
      silent.delete(socket)
    })
  })
  server.on("request", ({ socket }: Http.IncomingMessage) => silent.delete(socket))
  server.on("upgrade", ({ socket }: Http.IncomingMessage) => silent.delete(socket))
  return {
    close: (patienceMs) =>
      new Promise((resolve) => {
        const waitsFor = [...silent]
        server.close(() => resolve()) // from here on each answer ends its connection
        for (const socket of open) if (!silent.has(socket)) socket.destroy()
        setTimeout(() => {
          for (const socket of waitsFor) socket.destroy()
        }, patienceMs).unref()
      })
  }
}
