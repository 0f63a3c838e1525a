/**
 * `service status | start | stop | restart | run | logs`, for any application with a command line of `effect/cli`.
 *
 * @since 0.1.0
 */
import { type ServiceSpec, titleOf } from "@holdfast/lifecycle/ServiceSpec"
import * as ExitCode from "@holdfast/lock/ExitCode"
import { problem } from "@holdfast/lock/Problem"
import { ServiceError } from "@holdfast/lock/ServiceError"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import { DirectoryUnusable } from "./ClientError.ts"
import { runInForeground } from "./internal/foreground.ts"
import { logEnd } from "./internal/logEnd.ts"
import { type Look, look } from "./internal/look.ts"
import { type Access, resolvePaths, ServiceClient, type StopOutcome } from "./ServiceClient.ts"
import type { ServiceState } from "./ServiceState.ts"
import * as StatusLine from "./StatusLine.ts"
import * as StatusText from "./StatusText.ts"

/**
 * A command that could not do what it was asked; `code` is the exit code of docs/exit-codes.md.
 *
 * @category errors
 * @since 0.1.0
 */
export class CommandFailed extends ServiceError<CommandFailed>()("CommandFailed", ExitCode.unavailable, {
  code: Schema.Int
}) {
  override readonly [Runtime.errorExitCode] = this.code
  /** Without a message there is nothing left to say: whoever failed has said it. */
  override readonly [Runtime.errorReported] = this.message !== ""
  override get [CliError.userMessage](): string {
    // `undefined` is how the annotation is absent; the interface of Error has no way to say so for a getter
    return this.message === "" ? (undefined as never) : [this.message, this.action].join(" ").trim()
  }
}

/**
 * The command group.
 *
 * **Details** `status` and `logs` start nothing and change nothing. `status --json` prints one line, the
 * `ServiceState`. `run` is the same service in the foreground, with its log on the terminal. While a command waits it
 * shows the status on standard error; results go to standard output.
 *
 * **Example**
 *
 * ```ts
 * import * as ServiceCommand from "@holdfast/client/ServiceCommand"
 * import { define } from "@holdfast/lifecycle/ServiceSpec"
 * import { Command } from "effect/cli"
 *
 * const hello = define({ app: "hello", version: "1.0.0", entry: new URL("./daemon.ts", import.meta.url) })
 * export const command = Command.make("hello").pipe(Command.withSubcommands([ServiceCommand.make(hello)]))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (spec: ServiceSpec): Command.Command<"service", {}, {}, CommandFailed, Command.Environment> => {
  const title = titleOf(spec)
  const withClient = <A, R>(
    access: Access,
    effect: Effect.Effect<A, CommandFailed, R | ServiceClient>,
    needs: Needs = "directory and secret"
  ) => Effect.andThen(checkFiles(spec, needs), effect).pipe(Effect.provide(ServiceClient.layer(spec, { access })))

  const status = Command.make(
    "status",
    { json: Flag.Boolean("json").pipe(Flag.withDescription("Print one line of JSON"), Flag.withDefault(false)) },
    ({ json }) =>
      withClient(
        "observe",
        Effect.gen(function* () {
          const { seen } = yield* checkFiles(spec, "directory and secret")
          const state = yield* (yield* ServiceClient).state
          yield* Console.log(json ? JSON.stringify(state) : sentenceOf(state, spec, seen))
        })
      )
  ).pipe(Command.withDescription(`Say how the background service is; starts nothing`))

  const start = Command.make("start", {}, () =>
    withClient(
      "launch",
      Effect.gen(function* () {
        const service = yield* ServiceClient
        const ready = yield* service.launch().pipe(StatusLine.during(spec), Effect.mapError(toFailure))
        yield* Console.log(`${title} v${ready.version} is ready (PID ${ready.pid}).`)
      })
    )
  ).pipe(Command.withDescription("Start the background service, or attach to the running one"))

  const stop = Command.make("stop", {}, () =>
    withClient(
      "attach",
      Effect.gen(function* () {
        const service = yield* ServiceClient
        yield* report(yield* service.stop().pipe(saying(`Stopping ${title}…`)))
      }),
      "directory"
    )
  ).pipe(Command.withDescription("Stop the background service"))

  const restart = Command.make("restart", {}, () =>
    withClient(
      "launch",
      Effect.gen(function* () {
        const service = yield* ServiceClient
        const outcome = yield* service
          .restart()
          .pipe(StatusLine.during(spec), saying(`Restarting ${title}…`), Effect.mapError(toFailure))
        if (outcome._tag !== "Restarted") return yield* report(outcome)
        yield* Console.log(outcome.sentence)
      }),
      "directory"
    )
  ).pipe(Command.withDescription("Stop the background service, also one that does not respond, and start it again"))

  const run = Command.make("run", {}, () =>
    Effect.gen(function* () {
      const { paths } = yield* checkFiles(spec, "directory")
      const code = yield* runInForeground(spec, paths).pipe(Effect.mapError(toFailure))
      if (code !== 0) return yield* new CommandFailed({ code, message: "", action: "" }) // it has said why itself
    })
  ).pipe(Command.withDescription("Run the service in the foreground, with its log on this terminal"))

  const logs = Command.make(
    "logs",
    {
      lines: Flag.Int("lines").pipe(
        Flag.withAlias("n"),
        Flag.withDescription("How many of the last lines"),
        Flag.withDefault(100)
      )
    },
    ({ lines }) =>
      Effect.gen(function* () {
        if (lines < 1) {
          const message = `--lines ${lines} is out of range.`
          return yield* new CommandFailed({ code: ExitCode.usage, message, action: "Use 1 or more." })
        }
        const { paths } = yield* checkFiles(spec, "directory")
        const end = yield* Effect.try({
          try: () => logEnd(paths.log),
          catch: (error) => {
            const { action, message } = problem("read the log", paths.log, error)
            return new CommandFailed({ code: ExitCode.cannotCreate, message, action })
          }
        })
        yield* end === undefined
          ? Console.error(`There is no log yet; it will be ${paths.log}`)
          : Console.log(end.slice(-lines).join("\n"))
      })
  ).pipe(Command.withDescription("Print the end of the service's log"))

  return Command.make("service").pipe(
    Command.withDescription(`The background service of ${title}`),
    Command.withSubcommands([status, start, stop, restart, run, logs])
  )
}

/** A service whose secret is of no use can still be stopped, by its note; nothing works without the directory. */
type Needs = "directory" | "directory and secret"

/** Files that cannot be used are said before anything is tried, in one line; nothing is created. */
const checkFiles = (spec: ServiceSpec, needs: Needs) =>
  Effect.gen(function* () {
    const paths = resolvePaths(spec)
    if (paths instanceof DirectoryUnusable) return yield* toFailure(paths)
    const seen: Look = yield* Effect.sync(() => look(paths))
    if (seen._tag === "Unusable" && (seen.kind === "directory" || needs === "directory and secret")) {
      const code = seen.kind === "directory" ? ExitCode.cannotCreate : ExitCode.notAllowed
      return yield* new CommandFailed({ code, message: seen.problem.message, action: seen.problem.action })
    }
    return { paths, seen }
  })

/** One look, in words: unlike `StatusText`, nobody is waiting or starting anything. */
const sentenceOf = (state: ServiceState, spec: ServiceSpec, seen: Look): string => {
  const title = titleOf(spec)
  switch (state.status.type) {
    case "missing":
      return seen._tag === "Missing" && seen.holder !== undefined
        ? `${title} runs (PID ${seen.holder.pid}) and is not registered at the moment; it will be within seconds.`
        : `${title} is not running.`
    case "unreachable":
      return seen._tag === "Registered" && seen.owner === "dead"
        ? `${title} is not running. It ended without being stopped.`
        : `${title} does not answer. If it stays so, run \`${spec.app} service restart\`.`
    default: {
      const { action, text } = StatusText.line(state, spec)
      const pid = state.health === null ? "" : ` (PID ${state.health.pid})`
      return `${text}${pid}${action === undefined ? "" : ` ${action}`}`
    }
  }
}

/**
 * An error that has its words.
 *
 * @category models
 * @since 0.1.0
 */
export interface Failure {
  readonly message: string
  readonly action: string
  readonly [Runtime.errorExitCode]?: number
}

/**
 * Any error with words as a `CommandFailed`, with the exit code it carries.
 *
 * @category constructors
 * @since 0.1.0
 */
export const toFailure = (error: Failure): CommandFailed =>
  new CommandFailed({
    code: error[Runtime.errorExitCode] ?? ExitCode.unavailable,
    message: error.message,
    action: error.action
  })

/** Says what is waited for, once it is noticeable that something is. */
const saying =
  (text: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Effect.forkChild(Effect.delay(Console.error(text), "500 millis")), (said) =>
      Effect.ensuring(self, Fiber.interrupt(said))
    )

const report = (outcome: StopOutcome): Effect.Effect<void, CommandFailed> =>
  outcome._tag === "Stopped" || outcome._tag === "NotRunning"
    ? Console.log(outcome.sentence)
    : Effect.fail(new CommandFailed({ code: ExitCode.unavailable, message: outcome.sentence, action: "" }))
