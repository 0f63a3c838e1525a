/** The owner's own event stream: each event carries the whole health, the first one the present. */
import { dialOf, type Session, tokenHeader } from "@holdfast/lifecycle/Credential"
import type { ServiceHealth } from "@holdfast/lifecycle/ServiceHealth"
import { healthOf } from "@holdfast/lifecycle/StartupOutcome"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

const http = process.getBuiltinModule("node:http")

/** Ends with its owner, or when nobody can be heard; it never fails. */
export const healthEvents = (session: Session): Stream.Stream<ServiceHealth> =>
  Stream.callback<string>((queue) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const end = () => Queue.endUnsafe(queue)
        const request = http.get(
          {
            ...dialOf(session.address),
            path: "/service/events",
            agent: false,
            headers: { [tokenHeader]: session.token }
          },
          (response) => {
            response.setEncoding("utf8")
            response.on("data", (chunk: string) => Queue.offerUnsafe(queue, chunk))
            response.on("close", end)
          }
        )
        request.on("error", end)
        return request
      }),
      (request) => Effect.sync(() => request.destroy())
    )
  ).pipe(
    Stream.splitLines,
    Stream.flatMap((line) => {
      const health = line.startsWith("data: ") ? healthOf(parse(line.slice(6))) : undefined
      return health === undefined ? Stream.empty : Stream.succeed(health)
    })
  )

const parse = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
