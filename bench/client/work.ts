import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { ServiceClient } from "../../packages/client/src/ServiceClient.ts"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { hello } from "../../examples/minimal/src/service.ts"

const program = Effect.gen(function* () {
  const service = yield* ServiceClient
  const ready = yield* service.launch()
  const response = yield* service.http.get("/hello")
  yield* Console.log(`${ready.pid} ${yield* response.text}`)
})
program.pipe(Effect.provide(ServiceClient.layer(hello)), NodeRuntime.runMain)
