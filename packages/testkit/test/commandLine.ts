/** The `service` commands as a person runs them, and what a directory looked like before and after. */
import * as lease from "@holdfast/lock/lease"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, type Scope } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { environmentOf } from "./elsewhere.ts"
import { programOf } from "./fixture/programs.ts"

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  /** A command in front, which ends in running its arguments. */
  readonly before?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  /** Through `answer` of `@holdfast/client/quick`; it fails where that does not answer. */
  readonly quick?: boolean
}

/** `service <args>` for the service in `directory`. */
export const commandOf = (
  directory: string,
  args: ReadonlyArray<string>,
  { before = [], env = {}, quick = false }: RunOptions = {}
): { readonly command: ReadonlyArray<string>; readonly env: Record<string, string> } => ({
  command: [
    ...before,
    process.execPath,
    "--conditions",
    "development",
    programOf(quick ? "quickLine" : "commandLine"),
    "service",
    ...args
  ],
  env: { ...environmentOf(), FIXTURE_STATE_DIR: directory, ...env }
})

/** Without a terminal on any side; killed after 25 s. */
export const service = (directory: string, args: ReadonlyArray<string>, options?: RunOptions): Effect.Effect<Ran> =>
  Effect.promise(
    (signal) =>
      new Promise((resolve) => {
        const { command, env } = commandOf(directory, args, options)
        const child = childProcess.execFile(
          command[0]!,
          command.slice(1),
          { env, cwd: "/", signal, timeout: 25_000, killSignal: "SIGKILL" },
          (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr })
        )
        child.stdin!.end()
      })
  )

export interface Running {
  readonly child: childProcess.ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  readonly ended: Effect.Effect<number | NodeJS.Signals | null>
}

/** The same while it runs; ended with the scope. */
export const serviceRunning = (
  directory: string,
  args: ReadonlyArray<string>,
  options?: RunOptions
): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { command, env } = commandOf(directory, args, options)
      return childProcess.spawn(command[0]!, command.slice(1), { env, cwd: "/", stdio: ["ignore", "pipe", "pipe"] })
    }),
    (child) => Effect.sync(() => void child.kill("SIGKILL"))
  ).pipe(
    Effect.map((child) => {
      let [stdout, stderr] = ["", ""]
      child.stdout.on("data", (text: Buffer) => (stdout += text.toString()))
      child.stderr.on("data", (text: Buffer) => (stderr += text.toString()))
      const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
        child.on("close", (code, signal) => resolve(code ?? signal))
      )
      return { child, stdout: () => stdout, stderr: () => stderr, ended: Effect.promise(() => ended) }
    })
  )

const locker = `
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite")
  new DatabaseSync(process.argv[1]).exec("BEGIN EXCLUSIVE")
  process.stdin.resume()
  console.log("locked")`

/** A process that keeps a database locked until the scope closes. Not this one: reading the file would drop its lock. */
export const keptLocked = (database: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<childProcess.ChildProcess>((resolve) => {
          const child = childProcess.spawn(process.execPath, ["-e", locker, database], {
            stdio: ["pipe", "pipe", "ignore"]
          })
          child.stdout.once("data", () => resolve(child))
        })
    ),
    (child) =>
      Effect.promise(() => {
        const ended = new Promise((resolve) => child.once("exit", resolve))
        child.kill("SIGKILL")
        return ended
      })
  )

/** Everything below a place: for each path its kind, mode, owner, inode, size, time and bytes. */
export const snapshot = (place: string): ReadonlyMap<string, string> => {
  const stat = fs.lstatSync(place, { bigint: true, throwIfNoEntry: false })
  if (stat === undefined) return new Map([[place, "nothing"]])
  const { ino, mode, mtimeNs, size, uid } = stat
  const bytes = stat.isFile() ? fs.readFileSync(place, "latin1") : ""
  const below = stat.isDirectory() ? fs.readdirSync(place).toSorted() : []
  return new Map([
    [place, [mode, uid, ino, size, mtimeNs, bytes].join(" ")],
    ...below.flatMap((name) => [...snapshot(path.join(place, name))])
  ])
}

const heartbeatIn = (file: string): number => {
  const sight = lease.inspect(file)
  return sight._tag === "Row" && sight.holder !== null ? sight.holder.heartbeatAt : 0
}

/**
 * Runs `body`, and answers what it changed at the place and among the processes. That an owner renewed its lease
 * meanwhile is its own doing: it changes that file and, by its journal, the directory's time.
 */
export const changesBy = <A, E, R>(kit: Testkit["Service"], place: string, body: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const look = () => {
      const processes = kit.processes().map(({ pid }) => pid)
      return new Map([...snapshot(place), ["processes", processes.join(" ")]])
    }
    const [before, heartbeat] = [look(), heartbeatIn(kit.paths.lease)]
    const value = yield* body
    const after = look()
    const renewed = heartbeat !== heartbeatIn(kit.paths.lease)
    const own = renewed ? [kit.paths.lease, `${kit.paths.lease}-journal`, kit.paths.directory] : []
    const changes = [...new Set([...before.keys(), ...after.keys()])].filter(
      (name) => before.get(name) !== after.get(name) && !own.includes(name)
    )
    return { value, changes }
  })
