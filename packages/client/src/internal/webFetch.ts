/** `fetch` as a web program knows it, over the service's own HTTP client. */
import * as Cause from "effect/Cause"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import type { HttpMethod } from "effect/http/HttpMethod"
import * as Stream from "effect/Stream"
import { isLost } from "../Transport.ts"
import { lossInBody } from "./http.ts"
import { presentable } from "./presentable.ts"

/** The whole body is read first: it may have to be sent again, to the next owner. */
export const requestOf = async (path: string, init: RequestInit): Promise<HttpClientRequest.HttpClientRequest> => {
  const { signal: _, ...rest } = init
  // the host is only there because a Request needs one; the client puts the real address in front of the path
  const web = new Request(`http://service${path}`, rest)
  const body = new Uint8Array(await web.arrayBuffer())
  const bare = HttpClientRequest.make(web.method as HttpMethod)(path, { headers: Object.fromEntries(web.headers) })
  return web.body === null
    ? bare
    : HttpClientRequest.bodyUint8Array(bare, body, web.headers.get("content-type") ?? "application/octet-stream")
}

export const responseOf = (response: HttpClientResponse, signal: AbortSignal): Response => {
  const stream = Stream.catchCause(response.stream, (cause) => Stream.fail(bodyError(response, cause)))
  const body = [204, 205, 304].includes(response.status)
    ? null
    : Stream.toReadableStream(stream).pipeThrough(new TransformStream(), { signal })
  return new Response(body, { status: response.status, headers: { ...response.headers } })
}

const bodyError = ({ request }: HttpClientResponse, cause: Cause.Cause<unknown>): unknown =>
  isLost(Cause.squash(cause)) ? lossInBody(request) : presentable(cause)
