/**
 * Which process a pid meant: a pid alone is reused, so it is kept together with when and where the process started.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import { openPidfd } from "./internal/pidfd.ts"
import { kernelOf, type Sighting } from "./internal/sighting.ts"

const os = process.getBuiltinModule("node:os")

/**
 * A process, told from every other one that had or will have its pid.
 *
 * **Details** `startIdentity` is opaque text; compare it, don't read it. It carries the boot, the pid and time
 * namespaces, the start time in the platform's finest unit, and the machine, hashed as machine-id(5) asks. `host` is the
 * machine's name, since a home directory can be shared.
 *
 * @category models
 * @since 0.1.0
 */
export interface ProcessIdentity {
  readonly pid: number
  readonly startIdentity: string
  readonly host: string
}

/**
 * `unknown` (permission denied, another host or pid namespace, a platform without start times) is never "dead".
 *
 * @category models
 * @since 0.1.0
 */
export type IdentityState = "alive" | "dead" | "unknown"

interface Recorded {
  readonly boot: string
  readonly namespace: string
  readonly start: string
  /** Empty where the system has none. */
  readonly machine: string
}

const print = ({ boot, machine, namespace, start }: Recorded): string => `${boot}/${namespace}/${start}/${machine}`
const parse = (text: string): Recorded | undefined => {
  const [boot, namespace, start, machine = ""] = text.split("/")
  return boot && namespace && start ? { boot, namespace, start, machine } : undefined
}

const kernel = kernelOf(process.platform)

/**
 * The identity of a process of this machine as it is now, or `undefined` when it is not there or cannot be read.
 *
 * **Gotchas** Where a platform or runtime cannot tell start times, the identity is empty and `state` says `unknown`.
 *
 * **When to use** To record a process before it is watched or signalled later.
 *
 * **Example**
 *
 * ```ts
 * import * as identity from "@holdfast/lock/identity"
 * import { spawn } from "node:child_process"
 *
 * export const start = (program: string): identity.ProcessIdentity | undefined => {
 *   const { pid } = spawn(program, { stdio: "ignore" })
 *   return pid === undefined ? undefined : identity.ofPid(pid)
 * }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofPid = (pid: number): ProcessIdentity | undefined => {
  const host = os.hostname()
  if (kernel === undefined) return { pid, startIdentity: "", host }
  const seen = Number.isInteger(pid) && pid > 0 ? kernel.look(pid) : "absent"
  if (typeof seen === "string") return undefined
  const { start } = seen
  const recorded = { boot: kernel.boot(), namespace: kernel.namespace(), machine: kernel.machine(), start }
  return { pid, startIdentity: print(recorded), host }
}

/**
 * The identity of this process.
 *
 * **When to use** To record who claimed or wrote something.
 *
 * **Example**
 *
 * ```ts
 * import * as identity from "@holdfast/lock/identity"
 *
 * console.log(identity.own().pid === process.pid) // => true
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const own = (): ProcessIdentity =>
  ofPid(process.pid) ?? { pid: process.pid, startIdentity: "", host: os.hostname() }

/** Where we are, as data. */
interface Here {
  readonly host: string
  readonly boot: string
  readonly namespace: string
  readonly machine: string
}

/**
 * Whether a process was recorded on this machine. One boot is one kernel, whatever the machine is called meanwhile;
 * across boots both its id and its name must agree, since images are cloned with their id and names are reused.
 */
const isOurs = (recorded: Omit<Here, "namespace">, here: Here): boolean =>
  recorded.boot === here.boot || (recorded.host === here.host && recorded.machine === here.machine)

/**
 * The pure part of `state`: what a record says of a process that was seen, or was not, from `here`.
 *
 * **When to use** In tests. It is `unknown` wherever the record could be of another machine or of a namespace that cannot be
 * looked into.
 *
 * **Example**
 *
 * ```ts
 * import { judge } from "@holdfast/lock/identity"
 *
 * const recorded = { pid: 4711, startIdentity: "boot-1/pids/100/machine", host: "desk" }
 * const here = { host: "desk", boot: "boot-2", namespace: "pids", machine: "machine" }
 * console.log(judge(recorded, here, "absent")) // => "dead"
 * console.log(judge(recorded, { ...here, machine: "another" }, "absent")) // => "unknown"
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const judge = (identity: ProcessIdentity, here: Here, seen: Sighting): IdentityState => {
  const start = parse(identity.startIdentity)
  if (start === undefined || here.boot === "" || here.namespace === "") return "unknown"
  if (!isOurs({ ...start, host: identity.host }, here)) return "unknown"
  if (start.boot !== here.boot) return "dead"
  if (start.namespace !== here.namespace || seen === "hidden") return "unknown"
  if (seen === "absent" || seen.start !== start.start) return "dead"
  return seen.ended ? "dead" : "alive"
}

/** The machine is read only when it is asked for: within one boot nothing asks, and a contender that loses saves the time. */
const whereWeAre = (): Here => ({
  host: os.hostname(),
  boot: kernel?.boot() ?? "",
  namespace: kernel?.namespace() ?? "",
  get machine() {
    return kernel?.machine() ?? ""
  }
})

/**
 * Whether the process was recorded on another machine, as on a home directory that several share.
 *
 * **When to use** Before a person is told that a service "is not running" on a home directory that several machines share.
 *
 * **Example**
 *
 * ```ts
 * import * as identity from "@holdfast/lock/identity"
 *
 * console.log(identity.isElsewhere(identity.own())) // => false
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const isElsewhere = (identity: ProcessIdentity): boolean => {
  const start = parse(identity.startIdentity)
  const here = whereWeAre()
  return start === undefined ? identity.host !== here.host : !isOurs({ ...start, host: identity.host }, here)
}

/**
 * Whether the process that was recorded still runs.
 *
 * **Details** A zombie is dead: it holds no lock and answers nobody. A reused pid is dead: the recorded process is
 * gone. Another boot of this machine is dead.
 *
 * **When to use** Before a recorded pid is believed. Never take `unknown` for "dead".
 *
 * **Example**
 *
 * ```ts
 * import * as identity from "@holdfast/lock/identity"
 *
 * export const mayBeReplaced = (recorded: identity.ProcessIdentity): boolean => identity.state(recorded) === "dead"
 * ```
 *
 * Source: DESIGN §2 and §3, "Who may claim"; proc(5), machine-id(5).
 *
 * @category combinators
 * @since 0.1.0
 */
export const state = (identity: ProcessIdentity): IdentityState =>
  kernel === undefined ? "unknown" : judge(identity, whereWeAre(), kernel.look(identity.pid))

/**
 * Whether the process that was recorded is there and stands still, by SIGSTOP or in a debugger.
 *
 * **Gotchas** `false` also where that cannot be told; a container or a machine that sleeps as a whole is not seen.
 *
 * **When to use** To say why an owner does not answer. A stopped owner still owns.
 *
 * **Example**
 *
 * ```ts
 * import * as identity from "@holdfast/lock/identity"
 *
 * export const why = (owner: identity.ProcessIdentity): string =>
 *   identity.isStopped(owner) ? `PID ${owner.pid} is stopped: kill -CONT ${owner.pid}` : `PID ${owner.pid} does not answer`
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const isStopped = (identity: ProcessIdentity): boolean => {
  const seen = kernel?.look(identity.pid)
  return typeof seen === "object" && seen.stopped === true && state(identity) === "alive"
}

/**
 * This boot of this machine, as opaque text; empty where it cannot be told.
 *
 * **When to use** Beside times that are kept in a file: those of another boot say nothing about now.
 *
 * **Example**
 *
 * ```ts
 * import * as identity from "@holdfast/lock/identity"
 *
 * export const isOfNow = (kept: { readonly boot: string }): boolean => kept.boot !== "" && kept.boot === identity.boot()
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const boot = (): string => kernel?.boot() ?? ""

const ancestors = (): ReadonlySet<number> => {
  const found = new Set<number>()
  for (let pid = process.ppid; pid > 1 && !found.has(pid);) {
    found.add(pid)
    const seen = kernel?.look(pid)
    pid = typeof seen === "object" ? seen.parent : 0
  }
  return found
}

/**
 * Sends a signal to exactly that process, verified immediately before.
 *
 * **Details** `false` when it is not provably that process, or the kernel refused; then nothing was signalled. Pids
 * below 2, this process, its ancestors and process groups are never signalled. On Linux a pidfd pins the process where
 * the runtime can open one, so that its pid cannot become another's in between.
 *
 * **When to use** Instead of `process.kill` for any pid that was read from a file.
 *
 * **Example**
 *
 * ```ts
 * import * as identity from "@holdfast/lock/identity"
 * import * as OwnerNote from "@holdfast/lock/OwnerNote"
 * import { paths } from "@holdfast/lock/ServicePaths"
 *
 * export const askToEnd = (): boolean => {
 *   const { lock, owner } = paths({ app: "hello" })
 *   const living = OwnerNote.living(owner, lock)
 *   return living !== undefined && identity.signal(living, "SIGTERM")
 * }
 * ```
 *
 * Source: DESIGN §6 "restart / stop"; pidfd_send_signal(2).
 *
 * @category combinators
 * @since 0.1.0
 */
export const signal = (identity: ProcessIdentity, name: "SIGTERM" | "SIGKILL"): boolean => {
  const { pid } = identity
  if (!Number.isInteger(pid) || pid <= 1 || pid === process.pid || ancestors().has(pid)) return false
  const pinned = openPidfd(pid) // before looking: whoever is seen alive now is the one that is pinned
  try {
    if (state(identity) !== "alive") return false
    return pinned === undefined ? process.kill(pid, name) : pinned.send(name)
  } catch {
    return false // the kernel refused
  } finally {
    pinned?.close()
  }
}
