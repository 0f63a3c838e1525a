/** Binding an owner's server: a port on 127.0.0.1, or a Unix socket that only this user can reach. */
import type * as Http from "node:http"

const fs = process.getBuiltinModule("node:fs")
const net = process.getBuiltinModule("node:net")
const os = process.getBuiltinModule("node:os")

export interface Bound {
  readonly url: string
  /** What the proofs of the handshake are bound to: the address as a client dials it. */
  readonly endpoint: string
  /** What the `Host` of a request may be. */
  readonly hosts: ReadonlyArray<string>
  /** Binds a socket again whose file somebody removed. `true` when it had to. */
  readonly reassert: () => boolean
}

/** Rejects with the system's error; then nothing is bound. */
export const listen = (
  server: Http.Server,
  at: { readonly port?: number; readonly socketPath?: string }
): Promise<Bound> => (at.socketPath === undefined ? onPort(server, at.port ?? 0) : onSocket(server, at.socketPath))

const bind = (
  server: Http.Server,
  options: { readonly host?: string; readonly port?: number; readonly path?: string }
) =>
  new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen({ ...options, exclusive: true }, () => {
      server.off("error", reject)
      resolve()
    })
  })

const onPort = async (server: Http.Server, port: number): Promise<Bound> => {
  await bind(server, { host: "127.0.0.1", port })
  const address = server.address()
  if (!hasLoopback() && typeof address === "object" && !(await isReached(address!.port))) {
    server.close()
    throw Object.assign(new Error("there is no loopback network"), { code: "ENETDOWN" })
  }
  const endpoint = `127.0.0.1:${typeof address === "object" && address !== null ? address.port : port}`
  const hosts = [endpoint, endpoint.replace("127.0.0.1", "localhost")].flatMap(
    (host) => (host.endsWith(":80") ? [host, host.slice(0, -3)] : [host]) // clients leave the default port out
  )
  return { url: `http://${endpoint}`, endpoint, hosts, reassert: () => false }
}

/** Some sandboxes do not let one look. */
const hasLoopback = (): boolean => {
  try {
    return Object.values(os.networkInterfaces()).some((list) => list?.some(({ address }) => address === "127.0.0.1"))
  } catch {
    return false
  }
}

/** In a network namespace whose loopback device is down anybody can bind, and nobody can connect. */
const isReached = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect({ host: "127.0.0.1", port }, () => settle(true)).on("error", () => settle(false))
    const settle = (reached: boolean) => {
      socket.destroy()
      resolve(reached)
    }
  })

const onSocket = async (server: Http.Server, socketPath: string): Promise<Bound> => {
  // the directory is private already; the mode is what a person sees
  const bindPrivately = () => bind(server, { path: socketPath }).then(() => fs.chmodSync(socketPath, 0o600))
  await bindPrivately()
  const url = `unix:${socketPath}`
  const reassert = () => {
    if (fs.existsSync(socketPath)) return false
    server.close() // stops listening on the file that is gone; connections stay
    bindPrivately().catch(() => undefined) // tried again at the next assertion
    return true
  }
  return { url, endpoint: url, hosts: ["localhost"], reassert }
}
