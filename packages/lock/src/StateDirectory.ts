/**
 * The service's one directory: private, ours, or refused with one sentence.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import { type Problem, problem } from "./Problem.ts"

const fs = process.getBuiltinModule("node:fs")

const path = process.getBuiltinModule("node:path")

const statOf = (directory: string) => fs.statSync(directory)

/**
 * Answers what it created, outermost first. Not `mkdir { recursive }`: where a parent exists but refuses children with
 * ENOENT (`/proc`), that never ends.
 */
const makeDirectory = (directory: string, created: Array<string>): void => {
  const parent = path.dirname(directory)
  if (parent !== directory && !fs.existsSync(parent)) makeDirectory(parent, created)
  if (fs.existsSync(directory)) return
  try {
    fs.mkdirSync(directory, { mode: 0o700 })
    created.push(directory)
  } catch (error) {
    // another contender came first; what it made is checked like any other
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !fs.existsSync(directory)) throw error
  }
}

const removeEmpty = (directory: string): void => {
  try {
    fs.rmdirSync(directory)
  } catch {
    // somebody uses it by now
  }
}

/**
 * Why the directory cannot be used as it is, or `undefined` when it can be. Creates nothing.
 *
 * **Details** Refused: something that is no directory, another user's, one that others may write to. A directory that
 * is not there yet is fine. Being root is no excuse to use another user's: `sudo` would leave files the user cannot
 * read.
 *
 * **When to use** Before a service is looked for: a directory that others may write to is not believed.
 *
 * **Example**
 *
 * ```ts
 * import { paths } from "@holdfast/lock/ServicePaths"
 * import { inspect } from "@holdfast/lock/StateDirectory"
 *
 * export const warn = (): void => {
 *   const problem = inspect(paths({ app: "hello" }).directory)
 *   if (problem !== undefined) console.warn(problem.message, problem.action)
 * }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const inspect = (directory: string): Problem | undefined => {
  let stat: ReturnType<typeof statOf>
  try {
    stat = statOf(directory)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    return code === "ENOENT" ? undefined : problem("use the state directory", directory, error)
  }
  if (!stat.isDirectory()) {
    return problem("use the state directory", directory, { code: "ENOTDIR" })
  }
  const uid = process.geteuid?.()
  if (uid !== undefined && stat.uid !== uid) {
    return {
      code: "EOWNER",
      path: directory,
      message: `The state directory ${directory} belongs to another user (uid ${stat.uid}).`,
      action: "Run as that user, or name a directory of your own."
    }
  }
  if (uid !== undefined && (stat.mode & 0o022) !== 0) {
    return {
      code: "EMODE",
      path: directory,
      message: `Other users may write to the state directory ${directory}.`,
      action: `Run: chmod 700 '${directory}'`
    }
  }
  return undefined
}

/**
 * Creates the directory (mode 0700, with its parents) where it is missing and checks it.
 *
 * **Details** Answers the problem instead of throwing; then nothing was created or changed. An existing directory is
 * never changed, also not its mode.
 *
 * **When to use** Before `enter`, which needs the directory.
 *
 * **Example**
 *
 * ```ts
 * import { enter, type GateOutcome } from "@holdfast/lock/gate"
 * import { paths } from "@holdfast/lock/ServicePaths"
 * import { prepare } from "@holdfast/lock/StateDirectory"
 *
 * export const become = async (): Promise<GateOutcome> => {
 *   const { directory, lock, owner } = paths({ app: "hello" })
 *   const problem = prepare(directory)
 *   return problem === undefined ? enter(lock, { note: owner }) : { _tag: "Failed", ...problem }
 * }
 * ```
 *
 * Source: DESIGN §8.
 *
 * @category combinators
 * @since 0.1.0
 */
export const prepare = (directory: string): Problem | undefined => {
  const found = inspect(directory)
  if (found !== undefined) return found
  const created: Array<string> = []
  try {
    makeDirectory(directory, created)
    // root may write anywhere by its mode bits, so only the file system itself can say that it is read-only
    fs.accessSync(directory, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK)
  } catch (error) {
    for (const made of created.toReversed()) removeEmpty(made)
    return problem("use the state directory", directory, error)
  }
  return inspect(directory)
}
