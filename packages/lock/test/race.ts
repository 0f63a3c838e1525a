/** Processes of every installed runtime that race for one lock file; for the tests and for `npm run bench -- lock`. */
import { Effect } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import { runtimes, temporary } from "./support.ts"

export interface Racer {
  readonly runtime: string
  readonly taken: number
  readonly twoOwners: number
  /** Attempts that another's lock refused: without any there was no race. */
  readonly refused: number
  readonly replaced: number
  readonly failures: ReadonlyArray<string>
}

const racer = fileURLToPath(new URL("./fixture/racer.ts", import.meta.url))

/** Each runtime takes the lock `count` times. Dies when one does not end within the time. */
export const race = (count: number, withinMs: number): Effect.Effect<ReadonlyArray<Racer>> =>
  Effect.scoped(
    Effect.gen(function* () {
      const directory = yield* temporary
      const environment = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "/" }
      const racing = runtimes.filter(({ command }) => fs.existsSync(command))
      const waiting: Array<Writable> = []
      /** None begins before all are there: one that was alone for a while races with nobody. */
      const isThere = (stdin: Writable) => {
        if (waiting.push(stdin) === racing.length) for (const each of waiting) each.end("go")
      }
      const run = (command: string): Promise<Omit<Racer, "runtime">> =>
        new Promise((resolve, reject) => {
          const args = [racer, path.join(directory, "race.lock"), path.join(directory, "owner"), String(count)]
          const { stdin, stdout } = childProcess.execFile(
            command,
            args,
            { env: environment, timeout: withinMs, killSignal: "SIGKILL" },
            (error, stdout, stderr) =>
              error === null
                ? resolve(JSON.parse(stdout.slice(stdout.indexOf("\n"))))
                : reject(new Error(`${error.message} ${stderr}`))
          )
          stdin!.on("error", () => undefined) // one that died is told by its end
          stdout!.once("data", () => isThere(stdin!))
        })
      return yield* Effect.forEach(
        racing,
        ({ command, name }) =>
          Effect.map(
            Effect.promise(() => run(command)),
            (seen) => ({ runtime: name, ...seen })
          ),
        { concurrency: "unbounded" }
      )
    })
  )
