/** A process that nobody may signal, and records that name it as if it was the owner. */
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Effect from "effect/Effect"
import { textOf } from "./marks.ts"

const fs = process.getBuiltinModule("node:fs")
const { spawn } = process.getBuiltinModule("node:child_process")

/** It says so when it hears a signal, and ends with this process. */
const program = `
for (const name of ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCONT"]) process.on(name, () => console.log(name))
process.stdin.on("end", () => process.exit()).resume()
console.log("listening")`

/** `signals()`: those it heard, and the one that ended it. */
export const bystander = Effect.acquireRelease(
  Effect.callback<{ readonly pid: number; readonly signals: () => ReadonlyArray<string>; readonly end: () => void }>(
    (resume) => {
      const child = spawn(process.execPath, ["-e", program], { stdio: ["pipe", "pipe", "ignore"] })
      let heard = ""
      const signals = () => [
        ...heard.split("\n").filter((line) => line.startsWith("SIG")),
        ...(child.signalCode === null ? [] : [child.signalCode])
      ]
      child.stdout.on("data", (data: Buffer) => {
        heard += data.toString()
        resume(Effect.succeed({ pid: child.pid!, signals, end: () => void child.kill("SIGKILL") }))
      })
    }
  ),
  ({ end }) => Effect.sync(end)
)

/** Puts `pid` into every record, beside what else they say of their owner. */
export const misname = (paths: ServicePaths, pid: number): void => {
  for (const file of [paths.registration, paths.owner]) {
    const record = textOf(file)
    if (record !== "") fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(record), pid }))
  }
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite")
  const database = new DatabaseSync(paths.lease, { timeout: 5000 })
  try {
    database.prepare("UPDATE lease SET holder = json_set(holder, '$.pid', ?) WHERE holder IS NOT NULL").run(pid)
  } finally {
    database.close()
  }
}
