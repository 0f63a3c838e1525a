/**
 * Where a service keeps its files: a pure function from its key to every path. Nothing else builds a path.
 *
 * Imports no Effect: it is read in a contender's first milliseconds.
 *
 * @since 0.1.0
 */
import { homeOfUser } from "./internal/passwd.ts"

export { homeOfUser } from "./internal/passwd.ts"
export { isSocketName, isStateName, olderLogOf, socketOf } from "./internal/stateNames.ts"

const os = process.getBuiltinModule("node:os")
const path = process.getBuiltinModule("node:path")
const fs = process.getBuiltinModule("node:fs")
const crypto = () => process.getBuiltinModule("node:crypto")

/**
 * What tells one service of a user from another.
 *
 * **Details**
 *
 * - `app`: 1 to 32 of `a-z 0-9 -`, not starting with `-`.
 * - `channel` (default `"stable"`) and `profile` (default `"default"`): 1 to 32 of `a-z 0-9 _`. There is no `-`
 *   because it joins the two in a file name, and two different keys must never name one file.
 * - `directory`: where the files go, instead of the computed place. Relative paths count from the current directory.
 *
 * @category models
 * @since 0.1.0
 */
export interface ServiceKey {
  readonly app: string
  readonly channel?: string
  readonly profile?: string
  readonly directory?: string
}

/**
 * Absolute paths of everything a service keeps. `continuity` is what a graceful stop leaves to the next owner. `budget` is
 * the spawn lock's own file: the budget is written under it. `cache` is a directory: the program's compiled code.
 *
 * @category models
 * @since 0.1.0
 */
export type ServicePaths = Readonly<
  Record<
    | "directory"
    | "lock"
    | "spawnLock"
    | "owner"
    | "registration"
    | "lease"
    | "secret"
    | "continuity"
    | "log"
    | "budget"
    | "cache",
    string
  >
>

/**
 * A key or an environment from which no paths can be made. `message` is one sentence for a person, `action` what to do.
 *
 * **When to use** To end with `ExitCode.usage`: the key is the program's or its user's, and nothing was created.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidKey extends Error {
  override readonly name = "InvalidKey"
  readonly action: string
  constructor(message: string, action: string) {
    super(message)
    this.action = action
  }
}

/**
 * What `resolve` needs to know of the machine, as data.
 *
 * @category models
 * @since 0.1.0
 */
export interface Surroundings {
  readonly platform: NodeJS.Platform
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Home of the effective user in the password database; `undefined` where there is no entry. */
  readonly home: () => string | undefined
  readonly cwd: () => string
}

// one case, and no "_": two names must neither share a directory where case is ignored, nor a variable
const appPattern = /^[a-z0-9][a-z0-9-]{0,31}$/
const namePattern = /^[a-z0-9_]{1,32}$/

const checked = (what: string, value: string, pattern: RegExp, allowed: string): string => {
  if (typeof value === "string" && pattern.test(value)) return value
  throw new InvalidKey(`${what} ${JSON.stringify(value)} is not a valid name.`, `Use 1 to 32 of: ${allowed}.`)
}

/**
 * Checks the names in a key and fills the defaults in.
 *
 * **Details** Throws `InvalidKey`; touches nothing.
 *
 * **When to use** Where a name comes from a person, to say so before anything is looked for.
 *
 * **Example**
 *
 * ```ts
 * import { validate } from "@holdfast/lock/ServicePaths"
 *
 * console.log(validate({ app: "hello" })) // => { app: "hello", channel: "stable", profile: "default" }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const validate = (
  key: ServiceKey
): { readonly app: string; readonly channel: string; readonly profile: string } => ({
  app: checked("The application name", key.app, appPattern, "a-z, 0-9 and -, not starting with -"),
  channel: checked("The channel", key.channel ?? "stable", namePattern, "a-z, 0-9 and _"),
  profile: checked("The profile", key.profile ?? "default", namePattern, "a-z, 0-9 and _")
})

/**
 * The environment variable that names the state directory of `app`: `CODESEARCH_STATE_DIR` for `codesearch`.
 *
 * **When to use** In help texts and tests.
 *
 * **Example**
 *
 * ```ts
 * import { stateDirVariable } from "@holdfast/lock/ServicePaths"
 *
 * console.log(stateDirVariable("code-search")) // => "CODE_SEARCH_STATE_DIR"
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const stateDirVariable = (app: string): string => `${app.toUpperCase().replaceAll("-", "_")}_STATE_DIR`

const pathOn = (platform: NodeJS.Platform) => (platform === "win32" ? path.win32 : path.posix)

const homeRelative = (around: Surroundings, app: string): string => {
  const { isAbsolute, join } = pathOn(around.platform)
  if (around.platform === "win32") {
    const local = around.environment["LOCALAPPDATA"]
    if (local) return join(local, app)
  }
  const home = around.home() ?? (around.environment["HOME"] || undefined)
  if (home === undefined || !isAbsolute(home)) {
    throw new InvalidKey(
      "This user has no home directory, so there is no place for the service's files.",
      `Set ${stateDirVariable(app)} to a directory of your own.`
    )
  }
  switch (around.platform) {
    case "darwin":
      return join(home, "Library", "Application Support", app)
    case "win32":
      return join(home, "AppData", "Local", app)
    default:
      return join(home, ".local", "state", app)
  }
}

/** The current directory is asked for only where it counts: it may be gone. */
const absolute = (around: Surroundings, named: string): string => {
  const { isAbsolute, resolve } = pathOn(around.platform)
  if (isAbsolute(named)) return resolve(named)
  try {
    return resolve(around.cwd(), named)
  } catch {
    throw new InvalidKey(
      "The current directory is not there any more.",
      "Change to another directory, or name an absolute path."
    )
  }
}

/**
 * The pure part of `paths`: same key and same surroundings, same paths, under every runtime.
 *
 * **Details** The directory is, in this order: the key's, `<APP>_STATE_DIR`, the platform's place in the home of the
 * password database, then in `HOME`. Throws `InvalidKey`.
 *
 * **When to use** In tests, and to say where another machine keeps its files. For this machine there is `paths`.
 *
 * **Example**
 *
 * ```ts
 * import { resolve } from "@holdfast/lock/ServicePaths"
 *
 * const mac = { platform: "darwin", environment: {}, home: () => "/Users/ada", cwd: () => "/" } as const
 * console.log(resolve({ app: "hello" }, mac).log) // => "/Users/ada/Library/Application Support/hello/service.log"
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const resolve = (key: ServiceKey, around: Surroundings): ServicePaths => {
  const { app, channel, profile } = validate(key)
  const named = key.directory || around.environment[stateDirVariable(app)] || undefined
  const directory = named === undefined ? homeRelative(around, app) : absolute(around, named)
  const base = channel === "stable" && profile === "default" ? "service" : `service-${channel}-${profile}`
  return filesOf(pathOn(around.platform), directory, base)
}

const filesOf = ({ join }: Pick<typeof path, "join">, directory: string, base: string): ServicePaths => {
  const file = (ending: string) => join(directory, base + ending)
  return {
    directory,
    lock: file(".lock"),
    spawnLock: file(".spawn.lock"),
    owner: file(".owner.json"),
    registration: file(".json"),
    lease: file(".lease.db"),
    secret: file(".secret"),
    continuity: file(".continuity.json"),
    log: file(".log"),
    budget: file(".spawn.lock"),
    cache: file(".cache")
  }
}

/**
 * Every path of a service, for this user on this machine. Creates nothing. Throws `InvalidKey`. Source: DESIGN §8.
 *
 * **When to use** Wherever a file of the service is meant; never join a path by hand.
 *
 * **Gotchas** `HOME` does not move the files of a user who has an entry in the password database: `env -i` and
 * `sudo -E` must find the same service. Use `<APP>_STATE_DIR` or `directory` for that.
 *
 * **Example**
 *
 * ```ts
 * import { paths } from "@holdfast/lock/ServicePaths"
 *
 * console.log(paths({ app: "hello", directory: "/tmp/hello" }).lock) // => "/tmp/hello/service.lock"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const paths = (key: ServiceKey): ServicePaths =>
  resolve(key, { platform: process.platform, environment: process.env, home: homeOfUser, cwd: () => process.cwd() })

/**
 * The paths of the service whose lock this is: the lock names the directory and the base that all files share.
 *
 * **When to use** Where only the lock is known, as in a layer over `ProcessLock`.
 *
 * **Example**
 *
 * ```ts
 * import { besideLock } from "@holdfast/lock/ServicePaths"
 *
 * console.log(besideLock("/tmp/hello/service.lock").lease) // => "/tmp/hello/service.lease.db"
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const besideLock = (lock: string): ServicePaths =>
  filesOf(path, path.dirname(lock), path.basename(lock).replace(/\.lock$/, ""))

/**
 * A profile for one service per workspace: 16 hexadecimal digits of the directory's real path.
 *
 * **Details** Two names of one directory (symbolic links, `..`, a trailing slash) give one profile. A directory that
 * does not exist is taken by its absolute path.
 *
 * **When to use** As the `profile` of a spec, where each workspace has a service of its own.
 *
 * **Example**
 *
 * ```ts
 * import { paths, profileOf } from "@holdfast/lock/ServicePaths"
 *
 * export const here = () => paths({ app: "hello", profile: profileOf(process.cwd()) })
 *
 * console.log(profileOf("/usr/lib/..") === profileOf("/usr/")) // => true
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const profileOf = (directory: string): string => {
  const absolute = path.resolve(directory)
  let real = absolute
  if (fs.existsSync(absolute)) real = fs.realpathSync.native(absolute)
  if (os.platform() === "win32") real = real.toLowerCase()
  return crypto().createHash("sha256").update(real).digest("hex").slice(0, 16)
}
