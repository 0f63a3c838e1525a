import * as Application from "@holdfast/lifecycle/Application"
import { ServiceInstance } from "@holdfast/lifecycle/ServiceInstance"
import { Fence } from "@holdfast/lock/Fence"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { DatabaseSync } from "node:sqlite"
import { basename, join } from "node:path"
import { Api } from "./api.ts"
import { Handlers } from "./handlers.ts"
import { Index } from "./Index.ts"
import * as Roots from "./Roots.ts"
import type { Writer } from "./Store.ts"

/** Every write of the index goes through the fence: an owner that was frozen and replaced writes no more. */
const fenced = (database: DatabaseSync) =>
  Effect.map(Layer.build(Fence.layer(database)), (context): Writer => {
    const fence = Context.get(context, Fence)
    // what the body throws (a damaged or full database) is the index's to judge
    return (body) => Effect.catchDefect(fence.write(body), Effect.fail)
  }).pipe(Effect.orDie)

/** The index beside the service's own files, one for each channel and profile. */
const IndexLive = Layer.unwrap(
  Effect.map(ServiceInstance, ({ paths, progress }) =>
    Index.layerWith({
      directory: join(paths.directory, `${basename(paths.lock, ".lock")}.index`),
      progress,
      writer: fenced
    })
  )
).pipe(
  Layer.catchTag("IndexUnavailable", ({ action, message }) =>
    Layer.effect(Index, new Application.BootFailed({ message, action }))
  )
)

/** Hands over the roots that are being read at a stop, so that the next owner goes on although nobody asks again. */
const goingOn = Application.withContinuity({
  schema: Schema.Array(Schema.String),
  snapshot: Effect.flatMap(Index, ({ roots }) => Effect.map(roots, Roots.underWay)),
  resume: (paths) =>
    Effect.flatMap(Index, (index) =>
      // most are known from the index; after an update or a loss it may be new, and know none of them
      Effect.forEach(
        paths,
        (path) => Effect.catch(index.add(path), ({ message }) => Effect.logWarning(`not read on: ${message}`)),
        { discard: true }
      )
    )
})

export default Application.make(HttpApiBuilder.layer(Api).pipe(Layer.provide(Handlers))).pipe(
  goingOn,
  Application.provide(IndexLive)
)
