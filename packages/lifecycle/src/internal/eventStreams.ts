/** Which of the answers being given are event streams: those never end by themselves. */
import type * as Http from "node:http"

const isEventStream = (type: unknown): boolean => typeof type === "string" && type.startsWith("text/event-stream")

/** `content-type` among the headers given to `writeHead`: an object, or a flat list of names and values. */
const typeIn = (headers: unknown): unknown => {
  if (Array.isArray(headers)) {
    const at = headers.findIndex((name) => String(name).toLowerCase() === "content-type")
    return at < 0 ? undefined : headers[at + 1]
  }
  if (typeof headers !== "object" || headers === null) return undefined
  return Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1]
}

/** Calls `found` once the application begins an event stream. Headers that go through `writeHead` are kept nowhere. */
export const onEventStream = (response: Http.ServerResponse, found: () => void): void => {
  const writeHead = response.writeHead.bind(response) as (...args: ReadonlyArray<unknown>) => Http.ServerResponse
  response.writeHead = ((...args: ReadonlyArray<unknown>) => {
    if (isEventStream(typeIn(args.at(-1)) ?? response.getHeader("content-type"))) found()
    return writeHead(...args)
  }) as Http.ServerResponse["writeHead"]
}
