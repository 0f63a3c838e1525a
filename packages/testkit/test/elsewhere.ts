/** A client in a process of its own: as another user, in another namespace, or under another C library's word. */
import { against } from "@holdfast/testkit/Capability"
import { Effect } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { programOf } from "./fixture/programs.ts"

const client = programOf("client")

export type Verb = "launch" | "ensure" | "status" | "call" | "follow" | "stop" | "restart" | "everything"

/** What the client said; `error` is its tagged error. */
export interface Said {
  readonly value?: any
  readonly error?: { readonly _tag: string; readonly message: string; readonly action: string }
  readonly output: string
}

export interface ClientOptions {
  /** A command in front, which ends in running its arguments. */
  readonly before?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  readonly deadlineMs?: number
  /** When it is killed; 20 s. */
  readonly timeoutMs?: number
  /** The runtime of the client; without it the one of the test. */
  readonly runtime?: string
}

/** The command line of a client. */
export const commandOf = (verb: Verb, directory: string, options: ClientOptions = {}): ReadonlyArray<string> => {
  const runtime = options.runtime ?? process.execPath
  const deadlineMs = String(options.deadlineMs ?? 10_000)
  return [...(options.before ?? []), runtime, "--conditions", "development", client, verb, directory, deadlineMs]
}

/** All that is in a client's environment. */
export const environmentOf = (options: ClientOptions = {}): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: process.env["HOME"] ?? "/",
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "",
  ...options.env
})

/** Ends by itself, or is killed after its time-out; what it started itself is not waited for. */
export const clientSays = (verb: Verb, directory: string, options: ClientOptions = {}): Effect.Effect<Said> =>
  Effect.promise(
    (signal) =>
      new Promise((resolve) => {
        const [command, ...args] = commandOf(verb, directory, options)
        const env = environmentOf(options)
        childProcess.execFile(
          command!,
          args,
          { env, signal, timeout: options.timeoutMs ?? 20_000, killSignal: "SIGKILL" },
          (_error, stdout, stderr) => {
            const output = `${stdout}${stderr}`
            const line = stdout.split("\n").find((text) => text.startsWith("{"))
            resolve({ ...(line === undefined ? {} : JSON.parse(line)), output })
          }
        )
      })
  )

const succeeds = (command: string, ...args: ReadonlyArray<string>): boolean =>
  childProcess.spawnSync(command, args, { stdio: "ignore" }).status === 0

/** Tests that need one of these are skipped, with its name in their title, where it is missing. */
export const may = {
  terminal: succeeds("python3", "-c", "import pty"),
  trace: succeeds("strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "true"),
  limit: succeeds("prlimit", "--version"),
  becomeNobody: against("otherUser") === undefined,
  compile: succeeds("cc", "--version")
}

/** A library to preload that puts these C functions in the place of the system's. */
export const shim = (directory: string, name: string, source: string): string => {
  const [text, library] = [path.join(directory, `${name}.c`), path.join(directory, `${name}.so`)]
  fs.writeFileSync(text, source)
  childProcess.execFileSync("cc", ["-shared", "-fPIC", "-o", library, text, "-ldl"])
  return library
}
