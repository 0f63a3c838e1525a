/**
 * A service as one plain value, imported by its daemon, its clients, its command line and its tests.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import { InvalidKey, type ServiceKey, validate } from "@holdfast/lock/ServicePaths"
import { millisOf, type PlainDuration } from "./internal/duration.ts"

/**
 * Everything both sides must agree on.
 *
 * **Details**
 *
 * - `title`: the name people read; default `app`.
 * - `version`: what a `launch` compares; any text without line breaks.
 * - `entry`: the daemon's module, run by the runtime of the client that starts it, or a command of your own. Where there
 *   is no such `.ts` file, the `.js` or `.mjs` of the same name is run: a compiler or bundler leaves the URL as it is.
 * - `environment`: names of variables let through to the service besides the documented list.
 * - `policy`: `strict` (the default) or `fenced`; see `Ownership.Policy`.
 * - `listen`: a fixed port on 127.0.0.1, by default one that the system chooses; or a Unix socket in the state directory.
 *   The socket protects from a stranger that takes the port a moment after its owner died, and so could receive a request
 *   that was on its way: nobody but this user can make or reach a file in there, and its name is never used again. It does
 *   not protect from programs of the same user, is not for Windows, and its path must be short (103 bytes on macOS, 107 on
 *   Linux).
 * - `idleExit`: once it is ready, the service stops by itself when no request of the application was being answered and
 *   no stream was connected for this long: milliseconds or a text such as `"5 minutes"`, at least one second; `"never"`
 *   by default. A look at its health is no use of it; a client that follows its status is one.
 *
 * @category models
 * @since 0.1.0
 */
export interface ServiceSpec extends ServiceKey {
  readonly title?: string
  readonly version: string
  readonly entry: URL | { readonly command: string; readonly args: ReadonlyArray<string> }
  readonly environment?: ReadonlyArray<string>
  readonly listen?: { readonly port: number } | { readonly socket: true }
  readonly policy?: "strict" | "fenced"
  readonly idleExit?: PlainDuration | "never"
}

const refuse = (message: string, action: string): never => {
  throw new InvalidKey(message, action)
}

const checkListen = (listen: { readonly port?: unknown; readonly socket?: unknown }): void => {
  const { port, socket } = listen
  if (socket !== undefined) {
    if (socket !== true || port !== undefined)
      refuse("A service listens on a port or on a socket.", "Use { port } or { socket: true }.")
  } else if (!(Number.isInteger(port) && (port as number) >= 0 && (port as number) <= 65_535)) {
    refuse(`The port ${String(port)} is not a port.`, "Use a whole number from 0 to 65535; 0 lets the system choose.")
  }
}

/** A shorter one would end the service between two requests of the same client. */
const shortestIdleMs = 1000

const isLine = (text: string): boolean => text.trim() !== "" && !/[\r\n]/.test(text)

/**
 * Checks a spec and answers it as it is. Throws `InvalidKey` with one clear sentence; touches nothing.
 *
 * **When to use** Once for each service, in a module that its daemon and its clients import.
 *
 * **Example**
 *
 * ```ts
 * import { define } from "@holdfast/lifecycle/ServiceSpec"
 *
 * export const hello = define({
 *   app: "hello",
 *   version: "1.0.0",
 *   entry: new URL("./daemon.ts", import.meta.url)
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const define = <const S extends ServiceSpec>(spec: S): S => {
  validate(spec)
  if (!isLine(spec.version))
    refuse(`The version ${JSON.stringify(spec.version)} is not one line of text.`, "Use the package's version.")
  if (spec.title !== undefined && !isLine(spec.title))
    refuse("The title is not one line of text.", "Use the name people know.")
  if (spec.listen !== undefined) checkListen(spec.listen)
  if (spec.policy !== undefined && spec.policy !== "strict" && spec.policy !== "fenced") {
    refuse(`The policy ${JSON.stringify(spec.policy)} is not known.`, "Use strict or fenced.")
  }
  const idleMs = spec.idleExit === undefined || spec.idleExit === "never" ? shortestIdleMs : millisOf(spec.idleExit)
  if (idleMs === undefined) {
    refuse(
      `The idle exit ${JSON.stringify(spec.idleExit)} is not a length of time.`,
      'Use milliseconds, a text such as "5 minutes", or "never".'
    )
  } else if (idleMs < shortestIdleMs) {
    refuse(`The idle exit ${JSON.stringify(spec.idleExit)} is too short.`, 'Use at least "1 second", or "never".')
  }
  for (const name of spec.environment ?? []) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      refuse(`${JSON.stringify(name)} is not a variable's name.`, "List names only.")
    if (name.toUpperCase() === "NODE_OPTIONS")
      refuse("NODE_OPTIONS is never passed on to a service.", "Remove it from environment.")
  }
  return spec
}

/**
 * The name people read.
 *
 * **When to use** In sentences for people; commands and files are named by `app`.
 *
 * **Example**
 *
 * ```ts
 * import { titleOf } from "@holdfast/lifecycle/ServiceSpec"
 *
 * console.log(titleOf({ app: "hello" })) // => "hello"
 * console.log(titleOf({ app: "hello", title: "Hello World" })) // => "Hello World"
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const titleOf = (spec: Pick<ServiceSpec, "app" | "title">): string => spec.title ?? spec.app

export { devVersion, isOutdated } from "./internal/devVersion.ts"
