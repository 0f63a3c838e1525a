/** The place of a service: its directory, and whether a lock can hold there. */
import type { Facts } from "./facts.ts"
import { broken, fine, type Finding, unknown, wrong } from "./finding.ts"

type About = (facts: Facts) => Omit<Finding, "check">

/** It is there, or could be made, and this user may not. Anything else is about what is there. */
const access: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "EOWNER", "EMODE"])

export const aboutDirectory: About = ({ directory: { exists, problem }, paths }) => {
  if (problem !== undefined && !access.has(problem.code)) return broken(problem)
  return fine(exists ? paths.directory : `${paths.directory} is not there yet; a start makes it`)
}

export const aboutPermissions: About = ({ directory: { exists, mode, problem } }) => {
  if (problem !== undefined) return access.has(problem.code) ? broken(problem) : unknown("not looked at")
  if (!exists) return fine("it can be made there")
  return fine(mode === undefined ? "yours to write to" : `mode ${mode.toString(8)}, yours alone to write to`)
}

const gigabytes = (bytes: number): string =>
  bytes < 1e9 ? `${Math.floor(bytes / 1e6)} MB free` : `${Math.floor(bytes / 1e9)} GB free`

export const aboutFileSystem: About = ({ fileSystem: { freeBytes, name, remote }, paths, spec }) => {
  if (remote && spec.policy !== "fenced") {
    const action = "Name a directory on a local disk."
    return wrong(`${name}: other machines may use it as well, and a lock says nothing about them`, action)
  }
  if (freeBytes === 0) return wrong(`The disk of ${paths.directory} is full.`, "Free some space and try again.")
  const room = freeBytes === undefined ? [] : [gigabytes(freeBytes)]
  return fine([name ?? "of a kind this system does not tell", ...room].join(", "))
}

export const aboutPrimitive: About = ({ primitive }) =>
  "name" in primitive
    ? fine(`${primitive.name}; whether it holds here is proved at each start`)
    : wrong(
        `No lock that holds can be taken (${primitive.why}).`,
        "Install the optional dependencies (koffi) or the program flock (util-linux)."
      )
