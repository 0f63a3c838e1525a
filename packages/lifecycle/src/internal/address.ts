/**
 * Where an owner is reached: what a registration's `url` names, as far as a client may dial it.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")

/**
 * A loopback port, or a Unix socket. `endpoint` is what the proofs of the handshake are bound to.
 *
 * @category models
 * @since 0.1.0
 */
export type Address =
  | { readonly host: string; readonly port: number; readonly endpoint: string }
  | { readonly socketPath: string; readonly endpoint: string }

/**
 * The address that a registration's `url` names; `undefined` when it may not be dialled.
 *
 * **Details** Dialled are 127.0.0.1, which is the one address a service binds, and a socket directly in `directory`. Not
 * `localhost` and not `[::1]`: another program may have that same port there. Nor a socket elsewhere, which is somebody
 * else's.
 *
 * **When to use** Before anything is dialled that a file names.
 *
 * **Example**
 *
 * ```ts
 * import { endpointOf } from "@holdfast/lifecycle/Credential"
 *
 * console.log(endpointOf("http://127.0.0.1:4711")?.endpoint) // => "127.0.0.1:4711"
 * console.log(endpointOf("http://localhost:4711")) // => undefined
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const endpointOf = (url: string, directory?: string): Address | undefined => {
  if (url.startsWith("unix:")) {
    const socketPath = url.slice("unix:".length)
    return directory !== undefined && isDirectlyIn(directory, socketPath) ? { socketPath, endpoint: url } : undefined
  }
  const match = /^http:\/\/127\.0\.0\.1:(\d{1,5})\/?$/.exec(url)
  const port = Number(match?.[1])
  return port >= 1 && port <= 65_535 ? { host: "127.0.0.1", port, endpoint: `127.0.0.1:${port}` } : undefined
}

const isDirectlyIn = (directory: string, socketPath: string): boolean =>
  path.isAbsolute(socketPath) &&
  /^[^\0]+\.sock$/.test(path.basename(socketPath)) &&
  path.join(directory, path.basename(socketPath)) === socketPath

/**
 * The same for a state directory as this process spells it: an owner registers its real path.
 *
 * **Example**
 *
 * ```ts
 * import { addressIn } from "@holdfast/lifecycle/Credential"
 * import type { Registration } from "@holdfast/lifecycle/Registration"
 * import type { ServicePaths } from "@holdfast/lock/ServicePaths"
 *
 * export const mayBeDialled = ({ directory }: ServicePaths, { url }: Registration): boolean =>
 *   addressIn(directory, url) !== undefined
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const addressIn = (directory: string | undefined, url: string): Address | undefined =>
  endpointOf(url, directory !== undefined && url.startsWith("unix:") ? realOf(directory) : undefined)

const realOf = (directory: string): string | undefined => {
  try {
    return fs.realpathSync(directory)
  } catch {
    return undefined // then nobody listens in it
  }
}

/**
 * What `http.request` needs to know of an address. On a socket the `Host` header is `localhost`.
 *
 * **Example**
 *
 * ```ts
 * import { type Address, dialOf } from "@holdfast/lifecycle/Credential"
 * import * as http from "node:http"
 *
 * export const get = (address: Address, path: string): http.ClientRequest => http.get({ ...dialOf(address), path })
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const dialOf = (
  address: Address
): { readonly host: string; readonly port: number } | { readonly host: string; readonly socketPath: string } =>
  "socketPath" in address
    ? { host: "localhost", socketPath: address.socketPath }
    : { host: address.host, port: address.port }

/**
 * What stands before the path in a request's URL; on a socket it only says the `Host`.
 *
 * **Example**
 *
 * ```ts
 * import { baseUrlOf } from "@holdfast/lifecycle/Credential"
 *
 * console.log(baseUrlOf({ host: "127.0.0.1", port: 4711, endpoint: "127.0.0.1:4711" })) // => "http://127.0.0.1:4711"
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const baseUrlOf = (address: Address): string =>
  "socketPath" in address ? "http://localhost" : `http://${address.host}:${address.port}`
