/** Names of files that a service keeps beside those of `ServicePaths`: sockets, the older log, what writers leave. */
import type { ServicePaths } from "../ServicePaths.ts"

const path = process.getBuiltinModule("node:path")

/**
 * The Unix socket of one instance, in a directory of your choice. Its name carries the beginning of the `instanceID`, so
 * that no successor has to remove a predecessor's.
 *
 * **Gotchas** A Unix socket's path may have 103 bytes on macOS and 107 on Linux. It is checked when it is bound, not here.
 *
 * **Example**
 *
 * ```ts
 * import { paths, socketOf } from "@holdfast/lock/ServicePaths"
 *
 * const files = paths({ app: "hello", directory: "/tmp/hello" })
 * console.log(socketOf(files, "4b1f9c2e-61d0-4c53")) // => "/tmp/hello/service.4b1f9c2e.sock"
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const socketOf = (paths: Pick<ServicePaths, "directory" | "lock">, instanceID: string): string =>
  path.join(paths.directory, `${path.basename(paths.lock, ".lock")}.${instanceID.slice(0, 8)}.sock`)

/**
 * Whether a file's name is that of a socket of this service, of whichever instance.
 *
 * **When to use** To find sockets that owners left when they were killed.
 *
 * **Example**
 *
 * ```ts
 * import { isSocketName, paths } from "@holdfast/lock/ServicePaths"
 *
 * const files = paths({ app: "hello", directory: "/tmp/hello" })
 * console.log(isSocketName(files, "service.4b1f9c2e.sock")) // => true
 * console.log(isSocketName(files, "mine.sock")) // => false
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isSocketName = (paths: Pick<ServicePaths, "lock">, name: string): boolean => {
  const base = `${path.basename(paths.lock, ".lock")}.`
  return name.startsWith(base) && /^[0-9a-f]{8}\.sock$/.test(name.slice(base.length))
}

/**
 * The older part of a log, kept beside it once it grew beyond its bound.
 *
 * **Example**
 *
 * ```ts
 * import { olderLogOf, paths } from "@holdfast/lock/ServicePaths"
 *
 * console.log(olderLogOf(paths({ app: "hello", directory: "/tmp/hello" }).log)) // => "/tmp/hello/service.log.1"
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const olderLogOf = (log: string): string => `${log}.1`

/** `files.replace` and `files.create` write here first; a writer that was killed leaves it. */
const temporary = /\.\d+\.[a-z0-9]+\.tmp$/

/**
 * Whether a file's name is that of something this service keeps, whatever its state: its records, what SQLite and a
 * killed writer leave beside them, its sockets and its log. Never its lock, which outlives every owner, and never a file
 * of the application or of another service in the same directory.
 *
 * **When to use** To remove what a service keeps, as `service reset` does, and nothing else.
 *
 * **Example**
 *
 * ```ts
 * import { isStateName, paths } from "@holdfast/lock/ServicePaths"
 *
 * const files = paths({ app: "hello", directory: "/tmp/hello" })
 * console.log(["service.json", "service.lock", "index.db"].filter((name) => isStateName(files, name)))
 * // => ["service.json"]
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isStateName = (paths: ServicePaths, name: string): boolean => {
  const { budget, cache, continuity, lease, log, owner, registration, secret, spawnLock } = paths
  const kept = [registration, owner, secret, continuity, lease, log, spawnLock, budget]
  const beside = [`${continuity}.set-aside`, `${lease}-journal`, olderLogOf(log), cache]
  const written = name.replace(temporary, "")
  return (
    [...kept, ...beside].some((file) => path.basename(file) === name) ||
    (written !== name && kept.some((file) => path.basename(file) === written)) ||
    isSocketName(paths, name)
  )
}
