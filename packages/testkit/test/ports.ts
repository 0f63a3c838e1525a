/** A port of this machine that nobody listens on now. */
import { Effect } from "effect"
import * as net from "node:net"

export const freePort = Effect.callback<number>((resume) => {
  const server = net.createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as net.AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})
