/** `service start | stop | restart | run`. */
import { type ServiceSpec, titleOf } from "@holdfast/lifecycle/ServiceSpec"
import * as ExitCode from "@holdfast/lock/ExitCode"
import * as Command from "effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { type Access, type Ready, type RestartOutcome, ServiceClient } from "../ServiceClient.ts"
import * as StatusLine from "../StatusLine.ts"
import { checkFiles, CommandFailed, endWith, type Needs, toFailure } from "./commandFailed.ts"
import { json } from "./flags.ts"
import { runInForeground } from "./foreground.ts"

const withClient = <A, R>(
  spec: ServiceSpec,
  access: Access,
  effect: Effect.Effect<A, CommandFailed, R | ServiceClient>,
  needs: Needs = "directory and secret"
) => Effect.andThen(checkFiles(spec, needs), effect).pipe(Effect.provide(ServiceClient.layer(spec, { access })))

export const start = (spec: ServiceSpec) =>
  Command.make("start", { json }, ({ json }) =>
    withClient(
      spec,
      "launch",
      Effect.gen(function* () {
        const service = yield* ServiceClient
        const ready = yield* service.launch({ asked: true }).pipe(StatusLine.during(spec), Effect.mapError(toFailure))
        const sentence = `${titleOf(spec)} v${ready.version} is ready (PID ${ready.pid}).`
        yield* Console.log(json ? JSON.stringify(ready satisfies Ready) : sentence)
      })
    )
  ).pipe(Command.withDescription("Start the background service, or attach to the running one"))

export const stop = (spec: ServiceSpec) =>
  Command.make("stop", { json }, ({ json }) =>
    withClient(
      spec,
      "attach",
      Effect.gen(function* () {
        const service = yield* ServiceClient
        yield* report(yield* service.stop().pipe(saying(`Stopping ${titleOf(spec)}…`)), json)
      }),
      "directory"
    )
  ).pipe(Command.withDescription("Stop the background service"))

export const restart = (spec: ServiceSpec) =>
  Command.make("restart", { json }, ({ json }) =>
    withClient(
      spec,
      "launch",
      Effect.gen(function* () {
        const service = yield* ServiceClient
        const outcome = yield* service
          .restart()
          .pipe(StatusLine.during(spec), saying(`Restarting ${titleOf(spec)}…`), Effect.mapError(toFailure))
        yield* report(outcome, json)
      }),
      "directory"
    )
  ).pipe(Command.withDescription("Stop the background service, also one that does not respond, and start it again"))

export const run = (spec: ServiceSpec) =>
  Command.make("run", {}, () =>
    Effect.gen(function* () {
      const { paths } = yield* checkFiles(spec, "directory")
      yield* endWith(yield* runInForeground(spec, paths).pipe(Effect.mapError(toFailure))) // it has said why itself
    })
  ).pipe(Command.withDescription("Run the service in the foreground, with its log on this terminal"))

/** Says what is waited for, once it is noticeable that something is. */
const saying =
  (text: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Effect.forkChild(Effect.delay(Console.error(text), "500 millis")), (said) =>
      Effect.ensuring(self, Fiber.interrupt(said))
    )

const done: ReadonlySet<RestartOutcome["_tag"]> = new Set(["Stopped", "NotRunning", "Restarted"])

const report = (outcome: RestartOutcome, json: boolean): Effect.Effect<void, CommandFailed> => {
  const { _tag, sentence } = outcome
  if (json) {
    const line = _tag === "Restarted" ? { _tag, pid: outcome.ready.pid, sentence, ready: outcome.ready } : outcome
    return Effect.andThen(
      Console.log(JSON.stringify(line)),
      endWith(done.has(_tag) ? ExitCode.ok : ExitCode.unavailable)
    )
  }
  return done.has(_tag)
    ? Console.log(sentence)
    : Effect.fail(new CommandFailed({ code: ExitCode.unavailable, message: sentence, action: "" }))
}
