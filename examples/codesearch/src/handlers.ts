import * as Effect from "effect/Effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "./api.ts"
import { Index } from "./Index.ts"

/** The answers of {@link Api}, given by the {@link Index} service. */
export const Handlers = HttpApiBuilder.group(
  Api,
  "index",
  Effect.fn(function* (handlers) {
    const index = yield* Index
    return handlers.handleAll({
      search: ({ query }) => index.search(query),
      roots: () => index.roots,
      changes: () => Effect.succeed(index.changes),
      add: ({ payload }) => index.add(payload.path),
      remove: ({ payload }) => index.remove(payload.path)
    })
  })
)
