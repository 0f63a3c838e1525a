/** Programs run as a new user runs them: not from inside of this repository's own `npm run`. */
import { spawn } from "node:child_process"
import * as path from "node:path"

export interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly cwd: string
  readonly environment?: Readonly<Record<string, string>>
  /** Whose folder comes first on the PATH. */
  readonly runtime?: string | undefined
}

/** What `npm run` tells what it starts would be heeded by the npm that is started here. */
const ofNpm =
  /^npm_(package|lifecycle|config_(local_prefix|loglevel|silent|noproxy$)|command|execpath|node_execpath)|^INIT_CWD$|^NODE_COMPILE_CACHE$/

const clean = Object.fromEntries(
  Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !ofNpm.test(entry[0])
  )
)

/** What changes how long it takes, and nothing else. */
const quickly = { npm_config_audit: "false", npm_config_fund: "false", npm_config_prefer_offline: "true" }

const deadlineMs = 180_000

/** Ends when the program did and all that has its output; what never does is ended, and is an error. */
export const run = (command: string, args: ReadonlyArray<string>, options: RunOptions): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const first = options.runtime === undefined ? [] : [path.dirname(options.runtime)]
    const child = spawn(command, [...args], {
      cwd: options.cwd,
      env: {
        ...clean,
        ...quickly,
        NO_COLOR: "1",
        PATH: [...first, process.env["PATH"]].join(path.delimiter),
        ...options.environment
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const output = { stdout: "", stderr: "" }
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8")
      child[name].on("data", (text: string) => (output[name] += text))
    }
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      reject(new Error(`${[command, ...args].join(" ")} did not end\n${output.stdout}${output.stderr}`))
    }, deadlineMs)
    child.on("error", reject)
    child.on("close", (status) => {
      clearTimeout(timer)
      resolve({ status, ...output })
    })
  })

/** The same, for what has to succeed. Answers its output. */
export const must = async (command: string, args: ReadonlyArray<string>, options: RunOptions): Promise<string> => {
  const { status, stderr, stdout } = await run(command, args, options)
  if (status !== 0) {
    throw new Error(`in ${options.cwd}\n$ ${[command, ...args].join(" ")}\n${stdout}${stderr}ended with ${status}`)
  }
  return stdout
}

export const shell = (line: string, options: RunOptions): Promise<string> => must("sh", ["-c", line], options)

/** At most `count` of what is given to it at the same time. */
export const lanes = (count: number) => {
  const waiting: Array<() => void> = []
  let free = count
  return async <A>(task: () => Promise<A>): Promise<A> => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}
