/**
 * `npm run timeline -- <scenario> [file]`: plays a scenario with real processes and draws what happened. Without a name it
 * lists them; `chaos:<seed>` is 20 s of chaos.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Cause from "effect/Cause"
import { chaos } from "../packages/testkit/src/Chaos.ts"
import * as Scenario from "../packages/testkit/src/Scenario.ts"
import { Testkit } from "../packages/testkit/src/Testkit.ts"
import { versioned } from "../packages/testkit/test/fixture/versioned.ts"
import * as path from "node:path"

const usage = 64

const say = (text: string) => process.stdout.write(`${text}\n`)

const list = (to: NodeJS.WriteStream) => {
  for (const { name, sentence } of Scenario.all) to.write(`${name}\n    ${sentence}.\n`)
  to.write("chaos:<seed>\n    20 s of faults drawn by that seed, with every law checked throughout.\n")
}

interface Story {
  readonly sentence: string
  readonly run: Effect.Effect<void, { readonly message: string }, Testkit>
}

const storyOf = (name: string): Story | undefined => {
  const seed = /^chaos:(\S+)$/.exec(name)?.[1]
  if (seed === undefined) return Scenario.all.find((one) => one.name === name)
  return { sentence: `20 s of chaos with seed ${seed}`, run: chaos({ seed, minutes: 20 / 60 }) }
}

const play = (name: string, { run, sentence }: Story, file: string) =>
  Effect.gen(function* () {
    const kit = yield* Testkit
    const exit = yield* Effect.exit(run)
    const failure = Exit.isSuccess(exit) ? undefined : Cause.prettyErrors(exit.cause)[0]?.message.split("\n")[0]
    yield* kit.writeTimeline(file, failure)
    say(`${name}: ${failure ?? `${sentence}.`}\n${path.resolve(file)}`)
    return failure === undefined ? 0 : 1
  }).pipe(Effect.provide(Testkit.layer(versioned("1.0.0"), { title: sentence, next: versioned("2.0.0") })))

const place = process.env["HOLDFAST_TIMELINES"] ?? "timelines"
const [name, file = path.join(place, `${name?.replaceAll(/[^a-z0-9-]+/gi, "-")}.html`)] = process.argv.slice(2)
const story = name === undefined ? undefined : storyOf(name)
if (name === undefined) list(process.stdout)
else if (story === undefined) {
  process.stderr.write(`There is no scenario "${name}". These are:\n`)
  list(process.stderr)
  process.exitCode = usage
} else process.exitCode = await Effect.runPromise(play(name, story, file))
