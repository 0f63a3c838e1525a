/** What is around a service: its place, the program on disk, and the environment. All of it is only read. */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as fileSystem from "@holdfast/lock/fileSystem"
import type * as OwnerNote from "@holdfast/lock/OwnerNote"
import { problem } from "@holdfast/lock/Problem"
import { homeOfUser, stateDirVariable, validate } from "@holdfast/lock/ServicePaths"
import * as StateDirectory from "@holdfast/lock/StateDirectory"
import { moduleOf } from "./contender.ts"
import type { Environment, Facts } from "./facts.ts"

const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")

const attempt = <A>(body: () => A): A | undefined => {
  try {
    return body()
  } catch {
    return undefined
  }
}

/** Where the directory is missing, of the one it would be made in. */
export const directoryOf = (directory: string): Facts["directory"] => {
  const refused = StateDirectory.inspect(directory)
  const exists = fs.existsSync(directory)
  // where there are no users of this kind, mode bits say nothing
  const mode = process.geteuid === undefined ? undefined : attempt(() => fs.statSync(directory).mode & 0o7777)
  const found = { exists, ...(mode === undefined ? {} : { mode }) }
  if (refused !== undefined) return { ...found, problem: refused }
  let at = directory
  while (!fs.existsSync(at) && at !== path.dirname(at)) at = path.dirname(at)
  try {
    fs.accessSync(at, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK)
    return found
  } catch (error) {
    const doing = exists ? "use the state directory" : "make the state directory in"
    return { ...found, problem: problem(doing, at, error) }
  }
}

export const fileSystemOf = (directory: string): Facts["fileSystem"] => {
  const known = fileSystem.of(directory)
  const room = attempt(() => fs.statfsSync(directory))
  return {
    remote: known?.remote === true,
    ...(known === undefined ? {} : { name: known.name }),
    ...(room === undefined ? {} : { freeBytes: room.bavail * room.bsize })
  }
}

/** The newest of the files that a start would run, as far as they are given by their whole path. */
export const programOf = (entry: ServiceSpec["entry"]): Facts["program"] => {
  const named =
    "command" in entry
      ? [entry.command, ...entry.args].filter((one) => path.isAbsolute(one))
      : entry.protocol === "file:"
        ? [attempt(() => moduleOf(entry)) ?? entry.href]
        : []
  const seen = named.map((file) => ({ file, modifiedAt: attempt(() => fs.statSync(file).mtimeMs) }))
  const missing = seen.find(({ modifiedAt }) => modifiedAt === undefined)
  if (missing !== undefined) return { file: missing.file }
  const [newest] = seen.toSorted((one, other) => other.modifiedAt! - one.modifiedAt!)
  return newest === undefined ? undefined : { file: newest.file, modifiedAt: newest.modifiedAt! }
}

/** Whether the program on disk is not the one that its owner was started from. */
export const isNewer = (program: Facts["program"], holder: OwnerNote.Holder): boolean =>
  holder._tag === "Here" && program?.modifiedAt !== undefined && program.modifiedAt > holder.note.startedAt

/** What a service never gets, though many programs heed it. */
const withheld = /^(NODE_OPTIONS|BUN_OPTIONS|https?_proxy|all_proxy|no_proxy|NODE_EXTRA_CA_CERTS)$/i

export const environmentOf = (spec: ServiceSpec): Environment => {
  const { app, channel, profile } = validate(spec)
  const name = stateDirVariable(app)
  const given = new Set(spec.environment ?? [])
  return {
    home: process.env["HOME"],
    recordedHome: homeOfUser(),
    stateDir: { name, value: spec.directory === undefined ? process.env[name] : undefined },
    channel,
    profile,
    kept: Object.keys(process.env).filter((variable) => withheld.test(variable) && !given.has(variable))
  }
}
