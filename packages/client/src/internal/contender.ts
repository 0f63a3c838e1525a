/** Starting a contender: detached, with a scrubbed environment, its log as output, its outcome on a pipe. */
import { type ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { type HandOver, parseOutcome, type StartupOutcome, variable } from "@holdfast/lifecycle/StartupOutcome"
import { logEnd } from "./logEnd.ts"
import { type ServicePaths, validate } from "@holdfast/lock/ServicePaths"

const fs = process.getBuiltinModule("node:fs")
const os = process.getBuiltinModule("node:os")
const url = process.getBuiltinModule("node:url")
const childProcess = () => process.getBuiltinModule("node:child_process")

/** The descriptors of the spawn lock and of the startup pipe in the contender. */
const lockDescriptor = 3
const pipeDescriptor = 4

const passed = /^(PATH|HOME|USER|SHELL|LANG|LC_[A-Z]+|TZ|TMPDIR|HOLDFAST_LOCK_PRIMITIVE)$/
const passedOnWindows =
  /^(SystemRoot|SystemDrive|windir|ComSpec|PATHEXT|TEMP|TMP|USERPROFILE|USERNAME|APPDATA|LOCALAPPDATA|ProgramData|Path)$/i

/** The environment of a service: the documented names and those its author lists; never NODE_OPTIONS. */
export const environmentOf = (
  spec: ServiceSpec,
  from: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform
): Record<string, string> => {
  const named = new Set(spec.environment ?? [])
  const kept = (name: string) =>
    name.toUpperCase() !== "NODE_OPTIONS" &&
    (passed.test(name) || named.has(name) || (platform === "win32" && passedOnWindows.test(name)))
  return Object.fromEntries(
    Object.entries(from).filter((entry): entry is [string, string] => entry[1] !== undefined && kept(entry[0]))
  )
}

const loaderFlag =
  /^--(import|require|loader|experimental-loader|experimental-strip-types|experimental-transform-types|conditions|no-warnings|disable-warning|enable-source-maps|preload)(=|$)/
const takesValue = /^(--(import|require|loader|experimental-loader|conditions|disable-warning|preload)|-r|-C)$/

/** The flags by which this runtime loads its modules; a debugger's port or an `-e` is not the service's business. */
export const loaderFlags = (execArgv: ReadonlyArray<string>): ReadonlyArray<string> => {
  const kept: Array<string> = []
  for (let index = 0; index < execArgv.length; index++) {
    const flag = execArgv[index]!
    if (takesValue.test(flag)) kept.push(flag, execArgv[++index] ?? "")
    else if (loaderFlag.test(flag)) kept.push(flag)
  }
  return kept
}

/**
 * The module of an entry. Compilers and bundlers leave the text of a URL as it is: what was made of `daemon.ts` is
 * `daemon.js` or `daemon.mjs`, and is meant where there is no `daemon.ts`.
 */
export const moduleOf = (entry: URL): string => {
  const written = url.fileURLToPath(entry)
  const [, stem, kind] = /^(.*\.)([cm]?)ts$/.exec(written) ?? []
  if (stem === undefined || fs.existsSync(written)) return written
  return [`${stem}${kind}js`, `${stem}mjs`].find((made) => fs.existsSync(made)) ?? written
}

/** What to run for `entry`: a module with the runtime we run on, or the author's own command. */
export const commandOf = (
  entry: ServiceSpec["entry"]
): { readonly command: string; readonly args: ReadonlyArray<string> } =>
  "command" in entry ? entry : { command: process.execPath, args: [...loaderFlags(process.execArgv), moduleOf(entry)] }

export interface Contender {
  readonly pid: number
  /** Calls the listener with each outcome, then once with how the process ended. */
  readonly follow: (listener: (event: ContenderEvent) => void) => void
  /** It keeps this process alive no longer, and is still listened to while something else does. */
  readonly unref: () => void
  /** Lets go of it: it is no child to wait for. */
  readonly release: () => void
}

export type ContenderEvent =
  | StartupOutcome
  /** It ended; `diagnostic` is what it left in the log, or how it ended. */
  | { readonly type: "exited"; readonly code: number | null; readonly diagnostic: string }
  /** The command itself could not be run. */
  | { readonly type: "unstartable"; readonly command: string; readonly reason: string }

/**
 * What to run, and in which environment.
 *
 * @category models
 * @since 0.1.0
 */
export interface Launch {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
}

/**
 * Command, arguments and environment that make a process a contender for `spec`.
 *
 * **When to use** For a test harness that starts it itself. Clients start theirs by `Spawner`.
 *
 * **Gotchas** `how` names descriptors of the process that is started: it must inherit them under these numbers.
 *
 * **Example**
 *
 * ```ts
 * import { launchOf } from "@holdfast/client/Spawner"
 * import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
 * import { paths } from "@holdfast/lock/ServicePaths"
 * import { spawn } from "node:child_process"
 *
 * export const contend = (spec: ServiceSpec) => {
 *   const { args, command, env } = launchOf(spec, paths(spec), { foreground: true })
 *   return spawn(command, args, { env, stdio: "inherit" })
 * }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const launchOf = (
  spec: ServiceSpec,
  paths: ServicePaths,
  how: Pick<HandOver, "pipe" | "spawnLock" | "unasked" | "foreground"> = {}
): Launch => {
  const handOver: HandOver = { ...validate(spec), directory: paths.directory, ...how }
  return {
    ...commandOf(spec.entry),
    env: { ...environmentOf(spec, process.env, process.platform), [variable]: JSON.stringify(handOver) }
  }
}

/** Never blocks: where a FIFO was put in the log's place, nobody would read it. */
const openLog = (path: string): number => {
  const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = fs.constants
  const log = fs.openSync(path, O_WRONLY | O_APPEND | O_CREAT | (O_NONBLOCK ?? 0), 0o600)
  if (fs.fstatSync(log).isFile()) return log
  fs.closeSync(log)
  throw Object.assign(new Error("not a file"), { code: "EISDIR", path })
}

/**
 * Our descriptors that a child would inherit though nobody gave them: Node marks only the low ones close-on-exec, and a
 * service that lives for weeks must not keep a lock or a pipe of the shell it was started from. Linux only.
 */
const inheritable = (): ReadonlyArray<number> => {
  const own = "/proc/self/fd"
  if (process.platform !== "linux" || !fs.existsSync(own)) return [] // some sandboxes have no /proc
  const O_CLOEXEC = 0o2000000
  return fs.readdirSync(own).flatMap((name) => {
    try {
      const flags = /^flags:\s*(\d+)/m.exec(fs.readFileSync(`/proc/self/fdinfo/${name}`, "utf8"))?.[1] ?? "0"
      return (Number.parseInt(flags, 8) & O_CLOEXEC) === 0 ? [Number(name)] : []
    } catch {
      return [] // the one that the directory itself was read by
    }
  })
}

/**
 * What stands behind `last` in the child's list: `nothing` in place of each of those, so that it does not inherit them.
 * "ignore" alone leaves an inherited descriptor where it is.
 */
const covers = (
  descriptors: ReadonlyArray<number>,
  last: number,
  nothing: number
): ReadonlyArray<"ignore" | number> => {
  const covered = new Set(descriptors.filter((descriptor) => descriptor > last && descriptor < 4096))
  const highest = [...covered].reduce((most, one) => Math.max(most, one), last)
  return Array.from({ length: highest - last }, (_, index) => (covered.has(last + 1 + index) ? nothing : "ignore"))
}

/**
 * Starts one, which inherits the spawn lock where there is one. The state directory must be prepared: its log is opened
 * here. Throws the system's error.
 */
export const start = (
  spec: ServiceSpec,
  paths: ServicePaths,
  { spawnLock, unasked }: { readonly spawnLock?: number | undefined; readonly unasked?: boolean | undefined } = {}
): Contender => {
  const inherited = spawnLock === undefined ? {} : { spawnLock: lockDescriptor }
  const quiet = unasked === true ? { unasked } : {}
  const { args, command, env } = launchOf(spec, paths, { pipe: pipeDescriptor, ...inherited, ...quiet })
  const log = openLog(paths.log)
  const from = fs.fstatSync(log).size
  const nothing = fs.openSync(os.devNull, "r")
  try {
    const child = childProcess().spawn(command, [...args], {
      detached: true, // its own session: it outlives this terminal
      cwd: paths.directory,
      env,
      stdio: ["ignore", log, log, spawnLock ?? "ignore", "pipe", ...covers(inheritable(), pipeDescriptor, nothing)],
      windowsHide: true
    })
    const listeners = new Set<(event: ContenderEvent) => void>()
    const seen: Array<ContenderEvent> = []
    const tell = (event: ContenderEvent) => {
      seen.push(event)
      for (const listener of listeners) listener(event)
    }
    const pipe = child.stdio[pipeDescriptor] as import("node:net").Socket | null
    readLines(pipe, (line) => {
      const outcome = parseOutcome(line)
      if (outcome !== undefined) tell(outcome)
    })
    child.on("error", (error: NodeJS.ErrnoException) =>
      tell({
        type: "unstartable",
        command,
        reason: error.code === "ENOENT" ? "there is no such program" : (error.code ?? "unknown")
      })
    )
    child.on("exit", (code, signal) =>
      afterLastWord(pipe, () =>
        tell({
          type: "exited",
          code,
          diagnostic: lastWords(paths.log, from) ?? `it ended with ${signal ?? `code ${code}`}`
        })
      )
    )
    return {
      pid: child.pid ?? 0,
      follow: (listener) => {
        listeners.add(listener)
        for (const event of seen) listener(event)
      },
      unref: () => {
        child.unref()
        pipe?.unref()
      },
      release: () => {
        listeners.clear()
        child.unref()
        pipe?.destroy()
      }
    }
  } finally {
    fs.closeSync(nothing)
    fs.closeSync(log)
  }
}

/** What it said last may still be on its way when it ends; a child of its own may keep the pipe open for ever. */
const afterLastWord = (pipe: import("node:stream").Readable | null, then: () => void): void => {
  if (pipe === null || pipe.closed) return then()
  const timer = setTimeout(then, 500)
  pipe.once("close", () => {
    clearTimeout(timer)
    then()
  })
}

const readLines = (stream: import("node:stream").Readable | null, onLine: (line: string) => void): void => {
  let rest = ""
  stream?.setEncoding("utf8")
  stream?.on("error", () => undefined)
  stream?.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n")
    rest = lines.pop()!
    for (const line of lines) onLine(line)
  })
}

/** The last line a process wrote to the log since `from`, cut to one readable sentence. */
const lastWords = (log: string, from: number): string | undefined => {
  const lines = linesSince(log, from).filter((line) => line.trim() !== "" && !/^\s+at |^Node\.js v/.test(line))
  const error = lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1)
  return error?.trim().slice(0, 300)
}

const linesSince = (log: string, from: number): ReadonlyArray<string> => {
  try {
    return logEnd(log, from) ?? []
  } catch {
    return [] // a log that cannot be read is no reason to lose how the process ended
  }
}
