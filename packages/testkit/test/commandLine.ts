/** The `service` commands as a person runs them, and what a directory looked like before and after. */
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, type Scope } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { environmentOf } from "./elsewhere.ts"

const fixture = (name: string) => fileURLToPath(new URL(`./fixture/${name}.ts`, import.meta.url))

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  readonly ms: number
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
    fixture(quick ? "quickLine" : "commandLine"),
    "service",
    ...args
  ],
  env: { ...environmentOf(), FIXTURE_STATE_DIR: directory, ...env }
})

/** Without a terminal on any side; killed after 20 s. */
export const service = (directory: string, args: ReadonlyArray<string>, options?: RunOptions): Effect.Effect<Ran> =>
  Effect.promise(
    (signal) =>
      new Promise((resolve) => {
        const { command, env } = commandOf(directory, args, options)
        const started = performance.now()
        const child = childProcess.execFile(
          command[0]!,
          command.slice(1),
          { env, cwd: "/", signal, timeout: 20_000, killSignal: "SIGKILL" },
          (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr, ms: performance.now() - started })
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

/** Everything below a place: names, kinds, modes, owners, inodes, sizes, bytes and times. */
export const snapshot = (place: string): ReadonlyArray<unknown> => {
  const stat = fs.lstatSync(place, { bigint: true, throwIfNoEntry: false })
  if (stat === undefined) return [place, "nothing"]
  const { ino, mode, mtimeNs, size, uid } = stat
  const own = [place, mode, uid, ino, size, mtimeNs]
  if (stat.isFile()) return [...own, fs.readFileSync(place, "latin1")]
  if (!stat.isDirectory()) return own
  return [
    ...own,
    fs
      .readdirSync(place)
      .toSorted()
      .map((name) => snapshot(path.join(place, name)))
  ]
}

/**
 * Runs `body` and answers whether the directory is as it was, and who runs. An owner renews its lease every 10 s, which
 * changes the directory too, so what differs is looked at once more.
 */
export const unchangedBy = <A, E, R>(
  kit: Testkit["Service"],
  directory: string,
  body: Effect.Effect<A, E, R>
): Effect.Effect<{ readonly value: A; readonly unchanged: boolean }, E, R> =>
  Effect.gen(function* () {
    const look = () => [...snapshot(directory), ...kit.processes().map(({ pid }) => BigInt(pid))]
    const isSame = (before: ReadonlyArray<unknown>) => print(before) === print(look())
    let before = look()
    let value = yield* body
    if (!isSame(before)) {
      before = look()
      value = yield* body
    }
    return { value, unchanged: isSame(before) }
  })

const print = (value: unknown): string =>
  JSON.stringify(value, (_, found: unknown) => (typeof found === "bigint" ? String(found) : found))
