/** The service in the foreground: the same entry, attached to this terminal, ended with it. */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { problem } from "@holdfast/lock/Problem"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as StateDirectory from "@holdfast/lock/StateDirectory"
import * as Effect from "effect/Effect"
import { ContenderUnusable, type DirectoryUnusable, fromProblem } from "../ClientError.ts"
import { launchOf } from "./contender.ts"

const childProcess = () => process.getBuiltinModule("node:child_process")

/** The exit code it ended with; a signal counts as the shell counts it. Interrupting passes SIGTERM on and waits. */
export const runInForeground = (
  spec: ServiceSpec,
  paths: ServicePaths
): Effect.Effect<number, ContenderUnusable | CredentialOrDirectory> =>
  Effect.gen(function* () {
    const unusable = yield* Effect.sync(() => StateDirectory.prepare(paths.directory))
    if (unusable !== undefined) return yield* fromProblem("directory", unusable)
    const { args, command, env } = launchOf(spec, paths, { foreground: true })
    return yield* Effect.callback<number, ContenderUnusable>((resume) => {
      const child = childProcess().spawn(command, [...args], {
        cwd: paths.directory,
        env,
        stdio: ["ignore", "inherit", "inherit"]
      })
      child.on("error", (error) => {
        const { action, message } = problem("run", command, error)
        resume(Effect.fail(new ContenderUnusable({ command, message, action })))
      })
      const ended = new Promise<void>((resolve) =>
        child.on("exit", (code, signal) => {
          resume(Effect.succeed(code ?? 128 + (process.getBuiltinModule("node:os").constants.signals[signal!] ?? 0)))
          resolve()
        })
      )
      return Effect.promise(() => {
        child.kill("SIGTERM")
        return ended
      })
    })
  })

type CredentialOrDirectory = DirectoryUnusable | ReturnType<typeof fromProblem>
