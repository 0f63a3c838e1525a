/**
 * One bounded HTTP exchange with a loopback address: what a stranger does cannot hold us up or fill our memory.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import type * as Http from "node:http"

// an ESM import of node:http costs 24 ms and 14 MB, since it loads undici
const http = process.getBuiltinModule("node:http")

/**
 * What became of an exchange. A body is JSON, at most 64 KiB.
 *
 * @category models
 * @since 0.1.0
 */
export type Exchange =
  | { readonly _tag: "Answer"; readonly status: number; readonly body: unknown }
  /** Nobody listens there. */
  | { readonly _tag: "Refused" }
  /** Whoever listens did not answer in time. */
  | { readonly _tag: "Silent" }
  /** Whoever listens said nothing sensible. */
  | { readonly _tag: "Lost"; readonly why: string }

/**
 * What is asked of whom. `host` is an address, not a name: nothing is looked up.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExchangeOptions {
  readonly host: string
  readonly port: number
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds for all of it, from connect to the last byte. */
  readonly timeoutMs: number
}

const answerLimit = 64 * 1024

/**
 * Asks once, on a connection of its own that is closed afterwards. Never rejects. Proxy variables do not apply.
 *
 * @category constructors
 * @since 0.1.0
 */
export const exchange = (options: ExchangeOptions): Promise<Exchange> =>
  new Promise((resolve) => {
    const body = options.body === undefined ? undefined : JSON.stringify(options.body)
    try {
      const request = http.request({
        host: options.host,
        port: options.port,
        method: options.method,
        path: options.path,
        agent: false,
        headers: {
          ...options.headers,
          ...(body === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
        }
      })
      const settle = (outcome: Exchange) => {
        clearTimeout(timer)
        request.destroy()
        resolve(outcome)
      }
      const timer = setTimeout(() => settle({ _tag: "Silent" }), options.timeoutMs)
      request.on("error", (error: NodeJS.ErrnoException) =>
        settle(error.code === "ECONNREFUSED" ? { _tag: "Refused" } : { _tag: "Lost", why: error.code ?? "no HTTP" })
      )
      request.on("response", (response) => collect(response, settle))
      request.end(body)
    } catch {
      // a port or header that another program put into the registration
      resolve({ _tag: "Lost", why: "its address cannot be used" })
    }
  })

const collect = (response: Http.IncomingMessage, settle: (outcome: Exchange) => void): void => {
  const chunks: Array<Buffer> = []
  let size = 0
  response.on("data", (chunk: Buffer) => {
    size += chunk.length
    chunks.push(chunk)
    if (size > answerLimit) settle({ _tag: "Lost", why: "its answer is too large" })
  })
  response.on("error", () => settle({ _tag: "Lost", why: "its answer was cut" }))
  response.on("end", () => {
    try {
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"))
      settle({ _tag: "Answer", status: response.statusCode ?? 0, body })
    } catch {
      settle({ _tag: "Lost", why: "its answer is not JSON" })
    }
  })
}
