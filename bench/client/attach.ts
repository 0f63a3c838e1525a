// how long an attach takes in a program that has loaded everything: a client of its own each time
import { ServiceClient } from "../../packages/client/src/ServiceClient.ts"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { hello } from "../../examples/minimal/src/service.ts"

const attach = Effect.flatMap(ServiceClient, (service) => service.launch()).pipe(
  Effect.provide(Layer.fresh(ServiceClient.layer(hello)))
)
const times: Array<number> = []
for (let run = 0; run < 60; run++) {
  const before = performance.now()
  await Effect.runPromise(attach)
  if (run >= 10) times.push(performance.now() - before)
}
process.stdout.write(JSON.stringify(times))
