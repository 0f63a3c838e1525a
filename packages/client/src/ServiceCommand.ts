/**
 * `service status | start | stop | restart | run | logs | doctor | reset`, for any application with a command line of
 * `effect/cli`.
 *
 * @since 0.1.0
 */
import { type ServiceSpec, titleOf } from "@holdfast/lifecycle/ServiceSpec"
import * as Command from "effect/cli/Command"
import type { CommandFailed } from "./internal/commandFailed.ts"
import { doctor } from "./internal/doctorCommand.ts"
import { logs } from "./internal/logsCommand.ts"
import { reset } from "./internal/resetCommand.ts"
import { restart, run, start, stop } from "./internal/startStop.ts"
import { status } from "./internal/statusCommand.ts"

export { CommandFailed, type Failure, toFailure } from "./internal/commandFailed.ts"

/**
 * The command group.
 *
 * **Details** `status`, `logs` and `doctor` start nothing and change nothing; `reset` removes what a service keeps that
 * provably nobody runs. `--json` prints one line: of `status` the `ServiceState`, of `start` the `Ready`, of `stop` and
 * `restart` the outcome, of `doctor` its findings. `run` is the same service in the foreground, with its log on the
 * terminal. While a command waits it shows the status on standard error; results go to standard output.
 *
 * **When to use** As a subcommand of the application, so that people can look, start, stop and repair without knowing the
 * service's files.
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
export const make = (spec: ServiceSpec): Command.Command<"service", {}, {}, CommandFailed, Command.Environment> =>
  Command.make("service").pipe(
    Command.withDescription(`The background service of ${titleOf(spec)}`),
    Command.withSubcommands([
      status(spec),
      start(spec),
      stop(spec),
      restart(spec),
      run(spec),
      logs(spec),
      doctor(spec),
      reset(spec)
    ])
  )
