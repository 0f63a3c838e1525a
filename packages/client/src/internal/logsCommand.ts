/** `service logs [-f] [-n]`: the end of the log, and with `-f` what is written from then on. */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as ExitCode from "@holdfast/lock/ExitCode"
import { problem } from "@holdfast/lock/Problem"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { bellOn } from "./bell.ts"
import { checkFiles, CommandFailed } from "./commandFailed.ts"
import { lastLines, openLog } from "./logEnd.ts"
import { type LogReader, readOn } from "./logReader.ts"

const fs = process.getBuiltinModule("node:fs")

export const logs = (spec: ServiceSpec) =>
  Command.make(
    "logs",
    {
      lines: Flag.Int("lines").pipe(
        Flag.withAlias("n"),
        Flag.withDescription("How many of the last lines"),
        Flag.withDefault(100)
      ),
      follow: Flag.Boolean("follow").pipe(
        Flag.withAlias("f"),
        Flag.withDescription("Go on as lines are written, until Ctrl-C"),
        Flag.withDefault(false)
      )
    },
    ({ follow, lines }) =>
      Effect.gen(function* () {
        if (lines < 1) {
          const message = `--lines ${lines} is out of range.`
          return yield* new CommandFailed({ code: ExitCode.usage, message, action: "Use 1 or more." })
        }
        const { paths } = yield* checkFiles(spec, "directory")
        const { end, reader } = yield* Effect.acquireRelease(
          reading(paths.log, () => begin(paths.log, lines)),
          ({ reader }) => Effect.sync(reader.close)
        )
        if (end === undefined) yield* Console.error(`There is no log yet; it will be ${paths.log}`)
        const read = end === undefined || (yield* print(follow ? end.text : end.text + end.missing))
        if (follow && read) yield* followed(paths, reader)
      }).pipe(Effect.scoped)
  ).pipe(Command.withDescription("Print the end of the service's log; starts nothing"))

const failed = (doing: string, path: string, error: unknown): CommandFailed => {
  const { action, message } = problem(doing, path, error)
  return new CommandFailed({ code: ExitCode.cannotCreate, message, action })
}

const reading = <A>(path: string, body: () => A): Effect.Effect<A, CommandFailed> =>
  Effect.try({ try: body, catch: (error) => failed("read the log", path, error) })

interface Beginning {
  /** `missing`: the line break that the last line has not got yet. */
  readonly end: { readonly text: string; readonly missing: string } | undefined
  readonly reader: LogReader
}

const begin = (path: string, lines: number): Beginning => {
  const descriptor = openLog(path)
  if (descriptor === undefined) return { end: undefined, reader: readOn(path) }
  try {
    const { size } = fs.fstatSync(descriptor)
    const found = lastLines(path, descriptor, lines, size).join("\n")
    const last = Buffer.alloc(1, "\n")
    fs.readSync(descriptor, last, 0, 1, Math.max(size - 1, 0))
    const missing = found === "" ? "" : "\n"
    const whole = last.toString("latin1") === "\n"
    const end = whole ? { text: found + missing, missing: "" } : { text: found, missing }
    return { end, reader: readOn(path, { descriptor, from: size }) }
  } catch (error) {
    fs.closeSync(descriptor)
    throw error
  }
}

const followed = (paths: ServicePaths, reader: LogReader): Effect.Effect<void, CommandFailed> =>
  Effect.gen(function* () {
    const bell = yield* Effect.acquireRelease(
      Effect.sync(() => bellOn(paths.directory)),
      (bell) => Effect.sync(bell.close)
    )
    while (true) {
      const found = yield* reading(paths.log, reader.next)
      if (found === undefined) {
        // events get lost, and where no watch can be had there are none
        const poll = Effect.flatMap(Random.nextBetween(200, 300), (ms) => Effect.sleep(ms))
        yield* Effect.raceFirst(bell.rung, poll)
      } else if (!(yield* print(found))) return
    }
  }).pipe(Effect.scoped)

const quiet = () => undefined

/** `false` once nobody reads it any more: whoever has read enough is no failure. */
const print = (text: string | Buffer): Effect.Effect<boolean, CommandFailed> =>
  Effect.callback((resume) => {
    if (!process.stdout.listeners("error").includes(quiet)) process.stdout.on("error", quiet)
    process.stdout.write(text, (error) => {
      const gone = (error as NodeJS.ErrnoException | null | undefined)?.code === "EPIPE"
      resume(error && !gone ? Effect.fail(failed("write", "the output", error)) : Effect.succeed(!gone))
    })
  })
