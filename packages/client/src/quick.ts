/**
 * The first milliseconds of a client: what can be done before Effect is even loaded.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { InvalidKey, paths as pathsOf, type ServicePaths } from "@holdfast/lock/ServicePaths"
import * as StateDirectory from "@holdfast/lock/StateDirectory"
import { put } from "./internal/begun.ts"
import { stateOf } from "./internal/decide.ts"
import { make as discovering } from "./internal/discovering.ts"
import { look } from "./internal/look.ts"
import { spawn } from "./internal/spawning.ts"
import { codeOf, filesOf, patienceMs, unanswered } from "./internal/statusCode.ts"

/**
 * Starts the service when nobody owns it, so that it boots while this program still loads its own modules. The first
 * `ServiceClient` that wants a contender goes on with this one.
 *
 * **When to use** As the first thing in a bundled command-line program that is going to use the service, with everything
 * else behind a dynamic import. Leave it out where a command needs no service: `--help`, `service status`.
 *
 * **Details** It reads the service's files and decides as `launch` does; it waits for nothing, keeps no process alive,
 * and never throws: whatever is wrong is said by the client that comes after it.
 *
 * **Example**
 *
 * ```ts
 * import { begin } from "@holdfast/client/quick"
 * import { define } from "@holdfast/lifecycle/ServiceSpec"
 *
 * const hello = define({ app: "hello", version: "1.0.0", entry: new URL("./daemon.ts", import.meta.url) })
 *
 * export const main = async (): Promise<void> => {
 *   begin(hello)
 *   await import("./main.ts")
 * }
 * ```
 *
 * Source: DESIGN §6, "Order".
 *
 * @category constructors
 * @since 0.1.0
 */
export const begin = (spec: ServiceSpec): void => {
  const paths = pathsIn(spec)
  if (paths === undefined || !isDeserted(paths) || StateDirectory.prepare(paths.directory) !== undefined) return
  const spawned = spawn(spec, paths, { anyway: false, asked: false, unasked: true })
  put(paths.lock, spawned)
  spawned.then(
    (made) => made._tag === "Started" && made.contender.unref(),
    () => undefined // the client tries again, and says it
  )
}

const pathsIn = (spec: ServiceSpec): ServicePaths | undefined => {
  try {
    return pathsOf(spec)
  } catch (error) {
    if (error instanceof InvalidKey) return undefined
    throw error
  }
}

const isDeserted = (paths: ServicePaths): boolean => {
  const seen = look(paths)
  return seen._tag === "Missing" ? seen.holder === undefined : seen._tag === "Registered" && seen.owner === "dead"
}

/**
 * Answers `service status --json` when that is what the program was asked, and says whether it did. The line and the exit
 * code are those of `ServiceCommand`; the program has nothing left to do but end.
 *
 * **When to use** First of all in a bundled command-line program whose status is read by a prompt or a status bar again
 * and again: it takes a third of the time. Any other arguments, and anything unusual, are left to the command line.
 *
 * **Example**
 *
 * ```ts
 * import { answer } from "@holdfast/client/quick"
 * import { define } from "@holdfast/lifecycle/ServiceSpec"
 *
 * const hello = define({ app: "hello", version: "1.0.0", entry: new URL("./daemon.ts", import.meta.url) })
 *
 * export const main = async (): Promise<void> => {
 *   if (!(await answer(hello))) await import("./main.ts")
 * }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const answer = async (
  spec: ServiceSpec,
  args: ReadonlyArray<string> = process.argv.slice(2)
): Promise<boolean> => {
  const paths = args.join(" ") === "service status --json" ? pathsIn(spec) : undefined
  if (paths === undefined) return false
  const seen = look(paths)
  if (seen._tag === "Unusable") return false
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<"late">((resolve) => (timer = setTimeout(() => resolve("late"), patienceMs)))
  const found = await Promise.race([discovering(paths).find(), late])
  clearTimeout(timer)
  if (found !== "late" && found._tag === "Unusable") return false
  const state = found === "late" ? unanswered(seen) : stateOf(found)
  process.exitCode = codeOf(state, filesOf(paths))
  // an owner that is still being waited for must not keep the program
  await new Promise<void>((resolve) => process.stdout.write(`${JSON.stringify(state)}\n`, () => resolve()))
  if (found === "late") process.exit()
  return true
}
