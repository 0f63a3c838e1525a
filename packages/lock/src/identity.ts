/**
 * Which process a pid meant: a pid alone is reused, so it is kept together with when and where the process started.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import { openPidfd } from "./internal/pidfd.ts"

const fs = process.getBuiltinModule("node:fs")
const os = process.getBuiltinModule("node:os")

/**
 * A process, told from every other one that had or will have its pid.
 *
 * **Details** `startIdentity` is opaque text; compare it, don't read it. On Linux it carries the boot id, the pid
 * namespace, the start time in clock ticks and the machine id, hashed as machine-id(5) asks. `host` is the machine's
 * name, since a home directory can be shared.
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

interface LinuxPlace {
  readonly boot: string
  readonly namespace: string
}

interface LinuxStart extends LinuxPlace {
  readonly ticks: string
  /** Empty where the system has none. */
  readonly machine: string
}

interface LinuxStat {
  readonly state: string
  readonly parent: number
  readonly ticks: string
}

const tryRead = <A>(read: () => A): A | NodeJS.ErrnoException => {
  try {
    return read()
  } catch (error) {
    return error as NodeJS.ErrnoException
  }
}

/** Reads `/proc/<pid>/stat`. The command may hold spaces and parentheses, so fields count from the last `)`. */
const linuxStat = (pid: number): LinuxStat | NodeJS.ErrnoException => {
  const text = tryRead(() => fs.readFileSync(`/proc/${pid}/stat`, "utf8"))
  if (typeof text !== "string") return text
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  return { state: fields[0] ?? "", parent: Number(fields[1] ?? 0), ticks: fields[19] ?? "" }
}

let linuxPlaceCache: LinuxPlace | undefined
const linuxPlace = (): LinuxPlace => {
  if (linuxPlaceCache !== undefined) return linuxPlaceCache
  const boot = tryRead(() => fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim())
  const namespace = tryRead(() => fs.readlinkSync("/proc/self/ns/pid"))
  return (linuxPlaceCache = {
    boot: typeof boot === "string" ? boot : "",
    namespace: typeof namespace === "string" ? namespace.replace(/\D/g, "") : ""
  })
}

let linuxMachineCache: string | undefined
/** Read only by who needs it: within one boot nothing asks for it, and a contender that loses saves the time. */
const linuxMachine = (): string => {
  if (linuxMachineCache !== undefined) return linuxMachineCache
  const text = ["/etc/machine-id", "/var/lib/dbus/machine-id"]
    .map((file) => tryRead(() => fs.readFileSync(file, "utf8").trim()))
    .find((id): id is string => typeof id === "string" && /^[0-9a-f]{32}$/.test(id))
  if (text === undefined) return (linuxMachineCache = "")
  const { createHash } = process.getBuiltinModule("node:crypto")
  return (linuxMachineCache = createHash("sha256").update(`holdfast ${text}`).digest("hex").slice(0, 16))
}

const print = (start: LinuxStart): string => `${start.boot}/${start.namespace}/${start.ticks}/${start.machine}`
const parse = (text: string): LinuxStart | undefined => {
  const [boot, namespace, ticks, machine = ""] = text.split("/")
  return boot && namespace && ticks ? { boot, namespace, ticks, machine } : undefined
}

/**
 * The identity of a process of this machine as it is now, or `undefined` when it is not there or cannot be read.
 *
 * **Gotchas** Only Linux has start times here so far; elsewhere the identity is empty and `state` says `unknown`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofPid = (pid: number): ProcessIdentity | undefined => {
  if (process.platform !== "linux") return { pid, startIdentity: "", host: os.hostname() }
  const stat = linuxStat(pid)
  return "ticks" in stat
    ? {
        pid,
        startIdentity: print({ ...linuxPlace(), ticks: stat.ticks, machine: linuxMachine() }),
        host: os.hostname()
      }
    : undefined
}

/**
 * The identity of this process.
 *
 * @category constructors
 * @since 0.1.0
 */
export const own = (): ProcessIdentity =>
  ofPid(process.pid) ?? { pid: process.pid, startIdentity: "", host: os.hostname() }

/** The kernel's own word: /proc may be missing, or hide another user's process (hidepid). */
const isAbsent = (pid: number): boolean => {
  const sent = tryRead(() => process.kill(pid, 0))
  return sent !== true && sent.code === "ESRCH"
}

/** Where we are, as data. */
interface Here extends LinuxPlace {
  readonly host: string
  readonly machine: string
}

/** What the kernel said about a pid. `absent`: no such process. `hidden`: it may be there, but we may not look. */
type Sighting = Pick<LinuxStat, "state" | "ticks"> | "absent" | "hidden"

/**
 * Whether a process was recorded on this machine. One boot is one kernel, whatever the machine is called meanwhile;
 * across boots both its id and its name must agree, since images are cloned with their id and names are reused.
 */
const isOurs = (recorded: Omit<Here, "namespace">, here: Here): boolean =>
  recorded.boot === here.boot || (recorded.host === here.host && recorded.machine === here.machine)

/** The pure part of `state`. */
export const judge = (identity: ProcessIdentity, here: Here, seen: Sighting): IdentityState => {
  const start = parse(identity.startIdentity)
  if (start === undefined || here.boot === "" || here.namespace === "") return "unknown"
  if (!isOurs({ ...start, host: identity.host }, here)) return "unknown"
  if (start.boot !== here.boot) return "dead"
  if (start.namespace !== here.namespace || seen === "hidden") return "unknown"
  if (seen === "absent" || seen.ticks !== start.ticks) return "dead"
  return seen.state === "Z" || seen.state === "X" ? "dead" : "alive"
}

const whereWeAre = (): Here => ({
  host: os.hostname(),
  ...linuxPlace(),
  get machine() {
    return linuxMachine()
  }
})

/**
 * Whether the process was recorded on another machine, as on a home directory that several share.
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
 * @category combinators
 * @since 0.1.0
 */
export const state = (identity: ProcessIdentity): IdentityState => {
  if (process.platform !== "linux") return "unknown"
  const stat = linuxStat(identity.pid)
  const seen = "ticks" in stat ? stat : isAbsent(identity.pid) ? "absent" : "hidden"
  return judge(identity, whereWeAre(), seen)
}

const ancestors = (): ReadonlySet<number> => {
  const found = new Set<number>()
  for (let pid = process.ppid; pid > 1 && !found.has(pid);) {
    found.add(pid)
    const stat = process.platform === "linux" ? linuxStat(pid) : undefined
    pid = stat !== undefined && "parent" in stat ? stat.parent : 0
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
 * @category combinators
 * @since 0.1.0
 */
export const signal = (identity: ProcessIdentity, name: "SIGTERM" | "SIGKILL"): boolean => {
  const { pid } = identity
  if (!Number.isInteger(pid) || pid <= 1 || pid === process.pid || ancestors().has(pid)) return false
  const pinned = openPidfd(pid) // before looking: whoever is seen alive now is the one that is pinned
  try {
    if (state(identity) !== "alive") return false
    return pinned === undefined ? tryRead(() => process.kill(pid, name)) === true : pinned.send(name)
  } finally {
    pinned?.close()
  }
}
