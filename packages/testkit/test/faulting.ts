/** Faults of a place without a service, and of a test process of its own. */
import { type ServicePaths, paths as pathsOf } from "@holdfast/lock/ServicePaths"
import * as Fault from "@holdfast/testkit/Fault"
import { Effect, type Scope } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { programOf } from "./fixture/programs.ts"

export interface Here {
  readonly paths: ServicePaths
  readonly scratch: string
  readonly faults: Fault.Faults
  /** What the timeline heard. */
  readonly told: ReadonlyArray<string>
}

/** A state directory without a service. */
export const place: Effect.Effect<Here, never, Scope.Scope> = Effect.gen(function* () {
  const root = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), "fault-"))),
    (root) => Effect.sync(() => fs.rmSync(root, { recursive: true }))
  )
  const [directory, scratch] = [path.join(root, "state"), path.join(root, "scratch")]
  for (const one of [directory, scratch]) fs.mkdirSync(one, { mode: 0o700 })
  const paths = pathsOf({ app: "fixture", directory })
  const told: Array<string> = []
  const tell = (text: string) => Effect.sync(() => void told.push(text))
  return { paths, scratch, told, faults: Fault.make({ paths, scratch, tell }) }
})

/** For a test whose service is configured with the port: another program has it before there is a service. */
export const stranger = (
  ...given: Parameters<Fault.Faults["occupyPort"]>
): Effect.Effect<Fault.Stranger, Fault.PortTaken, Scope.Scope> =>
  Effect.flatMap(place, ({ faults }) => faults.occupyPort(...given))

/** A test process that did one fault. */
export const faulting = (
  directory: string,
  scratch: string,
  name: string,
  before: ReadonlyArray<string> = []
): Effect.Effect<{ readonly said: () => string; readonly kill: () => void }, never, Scope.Scope> =>
  Effect.gen(function* () {
    const [command, ...args] = [...before, process.execPath, "--conditions", "development", programOf("faults")]
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        childProcess.spawn(command!, [...args, directory, scratch, name], { stdio: ["pipe", "pipe", "inherit"] })
      ),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    )
    let said = ""
    child.stdout.on("data", (text: Buffer) => (said += text.toString()))
    return { said: () => said, kill: () => void child.kill("SIGKILL") }
  })

/** What a command prints. */
export const run = (command: ReadonlyArray<string>, env?: Readonly<Record<string, string>>): string =>
  childProcess.execFileSync(command[0]!, command.slice(1), {
    encoding: "utf8",
    env: { PATH: process.env["PATH"] ?? "", ...env },
    timeout: 20_000
  })
