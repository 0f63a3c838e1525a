import * as Application from "@holdfast/lifecycle/Application"
import { ServiceInstance } from "@holdfast/lifecycle/ServiceInstance"
import * as Effect from "effect/Effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Layer from "effect/Layer"
import { basename, join } from "node:path"
import { Api } from "./api.ts"
import { Handlers } from "./handlers.ts"
import { Index } from "./Index.ts"

/** The index beside the service's own files, one for each channel and profile. */
const IndexLive = Layer.unwrap(
  Effect.map(ServiceInstance, ({ paths, progress }) =>
    Index.layerWith({ directory: join(paths.directory, `${basename(paths.lock, ".lock")}.index`), progress })
  )
).pipe(
  Layer.catchTag("IndexUnavailable", ({ action, message }) =>
    Layer.effect(Index, new Application.BootFailed({ message, action }))
  )
)

export default Application.make(HttpApiBuilder.layer(Api).pipe(Layer.provide(Handlers))).pipe(
  Application.provide(IndexLive)
)
