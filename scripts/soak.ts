/**
 * `npm run soak -- [minutes] [seed]`: chaos for as long as one likes, in runs of at most five minutes with seeds that
 * count up. The first run that breaks a law ends it, with its seed and its timeline.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { chaos } from "../packages/testkit/src/Chaos.ts"
import { Testkit } from "../packages/testkit/src/Testkit.ts"
import { fixture } from "../packages/testkit/test/fixture/service.ts"

const [minutes = "10", first = "1"] = process.argv.slice(2)
const longest = 5

if (!(Number(minutes) > 0) || !/^\d+$/.test(first)) {
  process.stderr.write("Say how many minutes, and with which seed to begin: npm run soak -- 60 1\n")
  process.exit(64)
}

let left = Number(minutes)
for (let seed = Number(first); left > 0.01; seed++) {
  const now = Math.min(left, longest)
  const title = `${now} min of chaos with seed ${seed}`
  const run = chaos({ seed, minutes: now }).pipe(Effect.provide(Testkit.layer(fixture, { title })))
  const exit = await Effect.runPromiseExit(run)
  if (!Exit.isSuccess(exit)) {
    process.stderr.write(`${Cause.prettyErrors(exit.cause)[0]?.message}\n`)
    process.exit(1)
  }
  process.stdout.write(`seed ${seed}: ${now} min, no law was broken\n`)
  left -= now
}
