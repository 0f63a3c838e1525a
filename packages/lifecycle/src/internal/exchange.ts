/**
 * One bounded HTTP exchange with an address of this machine: what a stranger does cannot hold us up or fill our memory.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import type * as Http from "node:http"
import { type Address, dialOf } from "./address.ts"

// an ESM import of node:http costs 24 ms and 14 MB, since it loads undici
const http = () => process.getBuiltinModule("node:http")

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
  /** Whoever listens said nothing sensible; `answered` when it did say something, to the end or as no HTTP. */
  | { readonly _tag: "Lost"; readonly why: string; readonly answered?: true }

/**
 * What is asked of whom. An address is no name: nothing is looked up.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExchangeOptions {
  readonly address: Address
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds for all of it, from connect to the last byte. */
  readonly timeoutMs: number
  /** For several exchanges with one peer: an answered one leaves its connection to the next. Who made it destroys it. */
  readonly agent?: Http.Agent | undefined
  /** Ends it at once, as if there had been no answer; nothing of it keeps the process then. */
  readonly signal?: AbortSignal | undefined
}

const answerLimit = 64 * 1024

/**
 * Asks once, on a connection of its own that is closed afterwards, or on one of its `agent`'s. Never rejects. Proxy variables do not apply.
 *
 * **When to use** For a few words with a service before any HTTP client is loaded, and with whoever may be in its place.
 *
 * **Example**
 *
 * ```ts
 * import { type Address, exchange } from "@holdfast/lifecycle/Credential"
 *
 * export const isSomebodyThere = async (address: Address): Promise<boolean> => {
 *   const outcome = await exchange({ address, method: "GET", path: "/", timeoutMs: 500 })
 *   return outcome._tag === "Answer" || outcome._tag === "Lost"
 * }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const exchange = (options: ExchangeOptions): Promise<Exchange> =>
  new Promise((resolve) => {
    const body = options.body === undefined ? undefined : JSON.stringify(options.body)
    try {
      const request = http().request({
        ...dialOf(options.address),
        method: options.method,
        path: options.path,
        agent: options.agent ?? false,
        headers: {
          ...options.headers,
          ...(body === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
        }
      })
      const { signal } = options
      const settle = (outcome: Exchange) => {
        clearTimeout(timer)
        signal?.removeEventListener("abort", silent)
        if (options.agent === undefined || outcome._tag !== "Answer") request.destroy()
        resolve(outcome)
      }
      const silent = () => settle({ _tag: "Silent" })
      const timer = setTimeout(silent, options.timeoutMs)
      signal?.addEventListener("abort", silent)
      request.on("error", (error: NodeJS.ErrnoException) => settle(outcomeOf(error)))
      request.on("response", (response) => collect(response, settle))
      request.end(body)
      if (signal?.aborted === true) silent()
    } catch {
      // a port or header that another program put into the registration
      resolve({ _tag: "Lost", why: "its address cannot be used" })
    }
  })

/**
 * One connection at most, kept from one exchange to the next.
 *
 * **Example**
 *
 * ```ts
 * import { type Address, exchange, oneConnection } from "@holdfast/lifecycle/Credential"
 *
 * export const twice = async (address: Address): Promise<void> => {
 *   const agent = oneConnection()
 *   try {
 *     for (const path of ["/one", "/two"]) await exchange({ address, method: "GET", path, timeoutMs: 500, agent })
 *   } finally {
 *     agent.destroy()
 *   }
 * }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const oneConnection = (): Http.Agent => {
  const { Agent } = http()
  return new Agent({ keepAlive: true, maxSockets: 1 })
}

const outcomeOf = ({ code }: NodeJS.ErrnoException): Exchange => {
  switch (code) {
    case "ECONNREFUSED":
    case "ENOENT": // a socket that is not there
      return { _tag: "Refused" }
    case "EAGAIN": // a socket with a full queue: who listens is busy
      return { _tag: "Silent" }
    default:
      return code?.startsWith("HPE_") === true
        ? { _tag: "Lost", why: code, answered: true }
        : { _tag: "Lost", why: code ?? "no HTTP" }
  }
}

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
      settle({ _tag: "Lost", why: "its answer is not JSON", answered: true })
    }
  })
}
