import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import { Console, Effect } from "effect"
import { spec } from "./service.ts"

const program = Effect.gen(function* () {
  const service = yield* ServiceClient
  yield* service.launch()
  const response = yield* service.http.get("/hello")
  yield* Console.log(yield* response.text)
})
program.pipe(Effect.provide(ServiceClient.layer(spec)), NodeRuntime.runMain)
