/** Runs the command line as a person would: a process of its own, a state directory of its own. */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { programOf, sourceOf } from "../../../scripts/programs.ts"

export const main = programOf("codesearch-main")

/** As the example is written, for a test that shows it so. */
export const written = sourceOf("codesearch-main")

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Here {
  readonly state: string
  readonly tree: string
  readonly run: (args: ReadonlyArray<string>, options?: RunOptions) => Promise<Ran>
}

export interface RunOptions {
  readonly environment?: Record<string, string>
  readonly cwd?: string
  /** Another program in front, such as `setpriv`. */
  readonly before?: ReadonlyArray<string>
}

/** All that is in its environment. */
export const environmentOf = (state: string) => ({
  PATH: process.env["PATH"],
  HOME: process.env["HOME"],
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
  CODESEARCH_STATE_DIR: state
})

const run =
  (program: string, state: string, cwd: string) =>
  (args: ReadonlyArray<string>, options: RunOptions = {}): Promise<Ran> =>
    new Promise((resolve, reject) => {
      const [command, ...rest] = [...(options.before ?? []), process.execPath, program, ...args]
      const child = spawn(command!, rest, {
        cwd: options.cwd ?? cwd,
        env: { ...environmentOf(state), ...options.environment },
        stdio: ["ignore", "pipe", "pipe"]
      })
      let [stdout, stderr] = ["", ""]
      child.stdout.on("data", (data) => (stdout += data))
      child.stderr.on("data", (data) => (stderr += data))
      child.on("error", reject)
      child.on("close", (code) => resolve({ code, stdout, stderr }))
    })

/** A fresh tree and state directory; the service that ran for them is stopped afterwards, and that is checked. */
export const inFreshPlace = async (
  files: Record<string, string>,
  test: (here: Here) => Promise<void>,
  program = main
): Promise<void> => {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "codesearch-")))
  const [state, tree] = [path.join(root, "state"), path.join(root, "tree")]
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(tree, name)), { recursive: true })
    fs.writeFileSync(path.join(tree, name), text)
  }
  const here: Here = { state, tree, run: run(program, state, tree) }
  const clean = async () => {
    const stopped = await here.run(["service", "stop"])
    fs.rmSync(root, { recursive: true, force: true })
    return stopped
  }
  await test(here).catch(async (error: unknown) => {
    await clean()
    throw error
  })
  const stopped = await clean()
  if (stopped.code !== 0) throw new Error(`the service could not be stopped: ${stopped.stderr}`)
}
