/** Which processes belong to a state directory, and ending them by their own pid. */
import * as identity from "@holdfast/lock/identity"

const fs = process.getBuiltinModule("node:fs")

export interface Seen {
  readonly pid: number
  readonly parent: number
  readonly command: string
  readonly identity: identity.ProcessIdentity
}

const read = (path: string): string => {
  try {
    return fs.readFileSync(path, "utf8")
  } catch {
    return "" // it ended meanwhile, or is another user's
  }
}

const parentOf = (pid: number): number => {
  const stat = read(`/proc/${pid}/stat`)
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] ?? 0)
}

const workingDirectory = (pid: number): string => {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ""
  }
}

/**
 * Running processes that work in `directory` or were started with it in their environment; without this process.
 * Linux only; elsewhere empty.
 */
export const within = (directory: string): ReadonlyArray<Seen> => {
  if (process.platform !== "linux") return []
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(
      (pid) =>
        pid !== process.pid && (workingDirectory(pid) === directory || read(`/proc/${pid}/environ`).includes(directory))
    )
    .flatMap((pid) => {
      const found = identity.ofPid(pid)
      if (found === undefined || identity.state(found) !== "alive") return []
      return [
        {
          pid,
          parent: parentOf(pid),
          command: read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim(),
          identity: found
        }
      ]
    })
}

export const describe = (processes: ReadonlyArray<Seen>): string =>
  processes.map(({ command, pid }) => `  ${pid}  ${command}`).join("\n") || "  none"

/** Descendants of `pid` among `processes`, and itself. */
export const familyOf = (pid: number, processes: ReadonlyArray<Seen>): ReadonlySet<number> => {
  const family = new Set([pid])
  for (let size = 0; size !== family.size;) {
    size = family.size
    for (const one of processes) if (family.has(one.parent)) family.add(one.pid)
  }
  return family
}
