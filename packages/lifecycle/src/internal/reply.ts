/** Answers of the lifecycle shell, and the small bodies it reads. */
import type * as Http from "node:http"
import type { Duplex } from "node:stream"
import type { RefusalCode } from "../Refusal.ts"

/**
 * The HTTP status each code is sent with.
 *
 * @category models
 * @since 0.1.0
 */
export const statuses: Readonly<Record<RefusalCode, number>> = {
  service_starting: 503,
  service_stopping: 503,
  service_failed: 503,
  unauthenticated: 401,
  other_instance: 409,
  foreign_host: 403,
  browser_origin: 403,
  bad_request: 400,
  too_large: 413,
  not_found: 404,
  method_not_allowed: 405
}

/**
 * The header that carries the code. By it a client tells the shell's refusals from the application's own answers, which it
 * passes on.
 *
 * **Example**
 *
 * ```ts
 * import { refusalHeader } from "@holdfast/lifecycle/Refusal"
 *
 * export const isTheApplications = (response: Response): boolean => !response.headers.has(refusalHeader)
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export const refusalHeader = "x-holdfast-refusal"

const bodyLimit = 4096

export const send = (
  response: Http.ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {}
): void => {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    "content-type": "application/json",
    "cache-control": "no-store",
    "content-length": Buffer.byteLength(text),
    ...headers
  })
  response.end(text)
}

/** `Retry-After` goes with what passes by itself. */
export const refuse = (response: Http.ServerResponse, code: RefusalCode, message: string, action?: string): void =>
  send(response, statuses[code], action === undefined ? { code, message } : { code, message, action }, {
    [refusalHeader]: code,
    ...(code === "service_starting" || code === "service_stopping" ? { "retry-after": "1" } : {}),
    ...(code === "too_large" ? { connection: "close" } : {})
  })

/** The arguments of a refusal. */
export type Refused = readonly [code: RefusalCode, message: string, action?: string]

/** The same where there is no response object: on a connection that asked to leave HTTP, or asked nothing. */
export const refuseConnection = (socket: Duplex, code: RefusalCode, message: string, action?: string): void => {
  const text = JSON.stringify(action === undefined ? { code, message } : { code, message, action })
  socket.end(
    [
      `HTTP/1.1 ${statuses[code]} Refused`,
      "connection: close",
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(text)}`,
      `${refusalHeader}: ${code}`,
      "",
      text
    ].join("\r\n")
  )
}

/** A small JSON object; `undefined` for anything else. */
export const readJson = (request: Http.IncomingMessage): Promise<Record<string, unknown> | undefined | "too_large"> =>
  new Promise((resolve) => {
    const chunks: Array<Buffer> = []
    let size = 0
    request.on("data", (chunk: Buffer) => {
      size += chunk.length
      if (size > bodyLimit) {
        chunks.length = 0
        resolve("too_large")
      } else chunks.push(chunk)
    })
    request.on("end", () => {
      try {
        const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"))
        resolve(
          typeof value === "object" && value !== null && !Array.isArray(value)
            ? (value as Record<string, unknown>)
            : undefined
        )
      } catch {
        resolve(undefined)
      }
    })
    request.on("error", () => resolve(undefined))
  })
