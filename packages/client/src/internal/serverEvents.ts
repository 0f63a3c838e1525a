/** An application's own event stream over all instances: `reopened` whenever one begins, then what it sends. */
import * as Effect from "effect/Effect"
import { type AnyEvent, makeParser } from "effect/encoding/Sse"
import * as Stream from "effect/Stream"
import { UnexpectedAnswer } from "../ClientError.ts"
import type { ServiceHttp } from "./http.ts"
import { resumed } from "./resume.ts"

/**
 * An event of an application's own stream. `"reopened"` comes first on each instance: take a fresh snapshot then.
 *
 * @category models
 * @since 0.1.0
 */
export interface ServiceEvent {
  readonly event: string
  readonly data: unknown
}

export const serverEvents = (http: ServiceHttp, path: string): Stream.Stream<ServiceEvent, unknown> => {
  const once = Stream.unwrap(
    Effect.gen(function* () {
      const response = yield* http.get(path, { headers: { accept: "text/event-stream" } })
      const { status } = response
      if (status !== 200) {
        const message = `${path} answered ${status}, not an event stream.`
        return yield* new UnexpectedAnswer({ path, status, message, action: "Ask a path that has one." })
      }
      const received: Array<ServiceEvent> = []
      const parser = makeParser((event: AnyEvent) => {
        if (event._tag === "Event") received.push({ event: event.event, data: parse(event.data) })
      })
      const events = response.stream.pipe(
        Stream.decodeText(),
        Stream.flatMap((chunk) => {
          parser.feed(chunk)
          return Stream.fromIterable(received.splice(0))
        })
      )
      return Stream.concat(Stream.succeed<ServiceEvent>({ event: "reopened", data: undefined }), events)
    })
  )
  return resumed(once)
}

/** Data is JSON where it is JSON, and text otherwise. */
const parse = (data: string): unknown => {
  try {
    return JSON.parse(data)
  } catch {
    return data
  }
}
