import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as ServiceCommand from "@holdfast/client/ServiceCommand"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import * as StatusLine from "@holdfast/client/StatusLine"
import * as ExitCode from "@holdfast/lock/ExitCode"
import { Argument, CliOutput, Command, Flag } from "effect/cli"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import { connect, directoryOf, indexed, spoken } from "./client.ts"
import { print, workingDirectory } from "./print.ts"
import { codesearch } from "./service.ts"
import { tour } from "./tour.ts"

// whoever reads our output may stop reading: `codesearch search x | head -1`
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(ExitCode.ok)
  throw error
})

const color = process.stdout.isTTY && !process.env["NO_COLOR"]

let told = ""

/** Progress goes to standard error: one line that is rewritten on a terminal, a line each elsewhere. */
const tell = (text: string): void => {
  if (text === told) return
  told = text
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text}`)
  else if (text !== "") process.stderr.write(`${text}\n`)
}

/** All of it may wait for the service, also when another owner takes its place in between: never a frozen terminal. */
const waiting = <A>(self: Effect.Effect<A, unknown, ServiceClient>) =>
  self.pipe(StatusLine.during(codesearch), spoken, Effect.provide(ServiceClient.layer(codesearch)))

const search = Command.make(
  "search",
  {
    query: Argument.String("query").pipe(
      Argument.withDescription("The text to find, as it is; upper and lower case are the same")
    ),
    dir: Flag.String("dir").pipe(
      Flag.withDescription("The directory to search (default: the current one)"),
      Flag.optional
    ),
    limit: Flag.Int("limit").pipe(Flag.withDescription("At most this many lines, 1 to 1000"), Flag.withDefault(50)),
    json: Flag.Boolean("json").pipe(Flag.withDescription("Print one JSON array"), Flag.withDefault(false))
  },
  Effect.fnUntraced(function* ({ dir, json, limit, query }) {
    if (limit < 1 || limit > 1000) {
      return yield* new ServiceCommand.CommandFailed({
        code: ExitCode.usage,
        message: `--limit ${limit} is out of range.`,
        action: "Use 1 to 1000."
      })
    }
    if (query === "" || query.length > 256) {
      return yield* new ServiceCommand.CommandFailed({
        code: ExitCode.usage,
        message: "The text to find has no or more than 256 characters.",
        action: "Shorten it."
      })
    }
    const directory = yield* directoryOf(Option.getOrElse(dir, () => "."))
    const hits = yield* Effect.gen(function* () {
      const client = yield* connect
      yield* indexed(client, directory, tell)
      return yield* client.search({ query: { q: query, dir: directory, limit } })
    }).pipe(waiting)
    if (json) return yield* Console.log(JSON.stringify(hits))
    for (const hit of hits) yield* Console.log(print(hit, { cwd: workingDirectory(), color }))
    if (hits.length === 0) return yield* nothing(query, directory)
  })
).pipe(Command.withDescription("Find lines that contain a text"))

/** As with grep: no line is an answer, told by the exit code. */
const nothing = (query: string, directory: string) =>
  new ServiceCommand.CommandFailed({
    code: ExitCode.no,
    message: `No line in ${directory} contains ${JSON.stringify(query)}.`,
    action: ""
  })

/** Those of the user interface, which is opened without this module; they are here for `--help`. */
const uiFlags = {
  dir: Flag.String("dir").pipe(
    Flag.withDescription("The directory to index, in a terminal (default: the current one)"),
    Flag.optional
  ),
  plain: Flag.Boolean("plain").pipe(
    Flag.withDescription("In a terminal: plain lines, for a screen reader"),
    Flag.withDefault(false)
  ),
  standalone: Flag.Boolean("standalone").pipe(
    Flag.withDescription("In a terminal: without the service, with an index of its own"),
    Flag.withDefault(false)
  )
}

const noTerminal = new ServiceCommand.CommandFailed({
  code: ExitCode.usage,
  message: "There is no terminal to open the user interface in.",
  action: "Use `codesearch search`."
})

const root = Command.make("codesearch", uiFlags, ({ dir, plain, standalone }) =>
  plain || standalone || Option.isSome(dir) ? Effect.fail(noTerminal) : tour(tell, color).pipe(waiting)
).pipe(
  Command.withDescription("Search source trees from one index that all terminals share; in a terminal, as you type"),
  Command.withSubcommands([search, ServiceCommand.make(codesearch)])
)

/** One line for one error. */
const formatter = (): CliOutput.Formatter => {
  const base = CliOutput.defaultFormatter({ colors: process.stdout.isTTY && !process.env["NO_COLOR"] })
  return {
    ...base,
    formatError: (error) => `codesearch: ${base.formatCliError(error)}`,
    formatErrors: (errors) => errors.map((error) => `codesearch: ${base.formatCliError(error)}`).join("\n")
  }
}

export const main = (): void =>
  root.pipe(
    Command.run({ version: codesearch.version }),
    Effect.provide([NodeServices.layer, CliOutput.layer(formatter())]),
    NodeRuntime.runMain({ teardown: Runtime.defaultTeardown })
  )
