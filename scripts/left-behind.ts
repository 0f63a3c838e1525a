/** Says which processes still belong to a directory (by working directory, environment or arguments); 1 if any does. */
import * as fs from "node:fs"
import * as path from "node:path"

const read = (file: string): string => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return "" // ended meanwhile, or another user's
  }
}

const cwd = (pid: string): string => {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ""
  }
}

/** One line for each. */
export const leftBehind = (directory: string): ReadonlyArray<string> =>
  fs
    .readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .filter((pid) =>
      [cwd(pid), read(`/proc/${pid}/environ`), read(`/proc/${pid}/cmdline`)].some((text) => text.includes(directory))
    )
    .map((pid) => `left behind: ${pid} ${read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim()}`)

if (import.meta.main) {
  if (process.argv[2] === undefined) throw new Error("which directory? scripts/left-behind.ts <directory>")
  const left = leftBehind(path.resolve(process.argv[2]))
  for (const line of left) process.stderr.write(`${line}\n`)
  process.exitCode = left.length === 0 ? 0 : 1
}
