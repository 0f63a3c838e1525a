import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { runtimes, temporary } from "./support.ts"

const claimant = fileURLToPath(new URL("./fixture/claimant.ts", import.meta.url))
const epochs = 200

describe("claims without any lock", () => {
  it.live(
    "sixteen processes of every installed runtime claim at once: each epoch is handed out once, and none is left out",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const [file, notes] = [path.join(directory, "lease.db"), path.join(directory, "notes")]
        const run = (
          command: string
        ): Promise<{ readonly claimed: number; readonly held: number; readonly lost: number }> =>
          new Promise((resolve, reject) => {
            const env = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "/" }
            const options = { env, timeout: 25_000, killSignal: "SIGKILL" } as const
            childProcess.execFile(
              command,
              [claimant, file, notes, String(epochs), "16"],
              options,
              (error, stdout, stderr) =>
                error === null ? resolve(JSON.parse(stdout)) : reject(new Error(`${error.message} ${stderr}`))
            )
          })
        const installed = runtimes.filter((runtime) => runtime.installed)
        const racing = Array.from({ length: 16 }, (_, index) => installed[index % installed.length]!)
        const seen = yield* Effect.forEach(racing, ({ command }) => Effect.promise(() => run(command)), {
          concurrency: "unbounded"
        })
        const handedOut = fs.readFileSync(notes, "utf8").trim().split("\n").map(Number)
        assert.deepStrictEqual(
          [...handedOut].sort((a, b) => a - b),
          Array.from({ length: handedOut.length }, (_, index) => index + 1)
        )
        assert.isAtLeast(handedOut.length, epochs)
        assert.deepStrictEqual(
          seen.map(({ lost }) => lost),
          racing.map(() => 0),
          "nobody lost a claim it had"
        )
        assert.isAbove(
          seen.reduce((sum, { held }) => sum + held, 0),
          0,
          "without a refusal there was no race"
        )
      })
  )
})
