/** Terminal user interfaces of a test, each a process that only the test ends. */
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, type Scope } from "effect"
import * as childProcess from "node:child_process"
import { environmentOf } from "./elsewhere.ts"
import { programOf } from "./fixture/programs.ts"

const program = programOf("terminalUi")

export interface Interface {
  readonly pid: number
  readonly output: () => string
  readonly lines: (prefix: string) => ReadonlyArray<string>
  readonly signal: (signal: NodeJS.Signals) => void
  /** Its exit code, `null` after a signal, `undefined` while it runs. */
  readonly ended: () => number | null | undefined
}

export const open = (
  kit: Testkit["Service"],
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<Interface, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const args = ["--conditions", "development", program, kit.paths.directory]
      const child = childProcess.spawn(process.execPath, args, {
        env: environmentOf({ env }),
        stdio: ["ignore", "pipe", "pipe"]
      })
      let output = ""
      let ended: number | null | undefined
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (text: Buffer) => void (output += text.toString()))
      child.on("close", (code) => (ended = code))
      return { child, output: () => output, ended: () => ended }
    }),
    ({ child }) => Effect.sync(() => void child.kill("SIGKILL"))
  ).pipe(
    Effect.map(({ child, ended, output }) => ({
      pid: child.pid!,
      output,
      ended,
      lines: (prefix) =>
        output()
          .split("\n")
          .filter((line) => line.startsWith(prefix)),
      signal: (name) => void child.kill(name)
    }))
  )

/** Nothing that only a programmer reads. */
export const raw = /^\s+at .+:\d+|node:internal|\[cause\]|UNHANDLED|already running/m

/** Until its ticks go on. */
export const ticks = (kit: Testkit["Service"], one: Interface, pid?: number) =>
  Effect.suspend(() => {
    const count = () => one.lines("tick").filter((line) => pid === undefined || line.endsWith(` of ${pid}`)).length
    const before = count()
    return kit.eventually(
      "its ticks go on",
      () => [count(), one.output().slice(-500)] as const,
      ([now]) => now > before + 2,
      { within: "30 seconds" }
    )
  })
