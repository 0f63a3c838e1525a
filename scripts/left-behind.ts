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

const parentOf = (pid: string): number => Number(/\) \S (\d+)/.exec(read(`/proc/${pid}/stat`))?.[1])

/** Without this process, the one that started it, and its own children: a test runner has workers. Linux only. */
export const processesOf = (directory: string): ReadonlyArray<{ readonly pid: number; readonly command: string }> =>
  (fs.existsSync("/proc") ? fs.readdirSync("/proc") : [])
    .filter((pid) => /^\d+$/.test(pid) && ![process.pid, process.ppid].includes(Number(pid)))
    .filter((pid) => parentOf(pid) !== process.pid)
    .filter((pid) =>
      [cwd(pid), read(`/proc/${pid}/environ`), read(`/proc/${pid}/cmdline`)].some((text) => text.includes(directory))
    )
    .map((pid) => ({ pid: Number(pid), command: read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim() }))

if (import.meta.main) {
  if (process.argv[2] === undefined) throw new Error("which directory? scripts/left-behind.ts <directory>")
  const left = processesOf(path.resolve(process.argv[2]))
  for (const { command, pid } of left) process.stderr.write(`left behind: ${pid} ${command}\n`)
  process.exitCode = left.length === 0 ? 0 : 1
}
