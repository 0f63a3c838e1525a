/** What the processes of a test noted about themselves. */
import type { Step } from "@holdfast/lock/step"
import type { Life } from "../Observation.ts"
import { type Origin, sinceOf } from "./stamp.ts"

const fs = process.getBuiltinModule("node:fs")

export const textOf = (file: string): string => {
  try {
    return fs.readFileSync(file, "utf8").trimEnd()
  } catch {
    return ""
  }
}

const sizes = new Map<string, number>()
/** Of a module's file; zero for what has none. */
const bytesOf = (url: string): number => {
  const known = sizes.get(url)
  if (known !== undefined) return known
  const size = url.startsWith("file:") ? (fs.statSync(new URL(url), { throwIfNoEntry: false })?.size ?? 0) : 0
  sizes.set(url, size)
  return size
}

const name = /^marks-(\d+)$/

/** Who noted anything. */
export const markedIn = (scratch: string): ReadonlyArray<number> => {
  try {
    return fs.readdirSync(scratch).flatMap((file) => Number(name.exec(file)?.[1] ?? []))
  } catch {
    return []
  }
}

/** The life that these lines tell of. */
export const lifeOf = (pid: number, text: string, from: Origin): Life | undefined => {
  const marks = text.split("\n").flatMap((line) => {
    const [, stamp, kind, rest] = /^(\S+) (\S+) (.*)$/.exec(line) ?? []
    return stamp === undefined ? [] : [{ at: sinceOf(from, stamp), kind, rest: rest! }]
  })
  const [came, exit] = ["came", "exit"].map((kind) => marks.find((mark) => mark.kind === kind))
  if (came === undefined) return undefined
  const [code, maxRss] = exit?.rest.split(" ").map(Number) ?? []
  return {
    pid,
    role: came.rest as Life["role"],
    from: came.at,
    to: exit?.at,
    code,
    steps: marks.filter(({ kind }) => kind === "step").map(({ at, rest }) => ({ at, step: rest as Step })),
    ordered: marks.filter(({ kind }) => kind === "signal").map(({ at, rest }) => ({ at, signal: rest })),
    modules: marks
      .filter(({ kind }) => kind === "module")
      .map(({ at, rest }) => ({ at, url: rest, bytes: bytesOf(rest) })),
    // kilobytes, of getrusage(2)
    peakRssBytes: maxRss === undefined ? undefined : maxRss * 1024
  }
}

/** All processes that noted anything, in the order they came. */
export const livesIn = (scratch: string, from: Origin): ReadonlyArray<Life> =>
  markedIn(scratch)
    .flatMap((pid) => lifeOf(pid, textOf(`${scratch}/marks-${pid}`), from) ?? [])
    .sort((a, b) => a.from - b.from)

export const lifeIn = (scratch: string, pid: number, from: Origin): Life | undefined =>
  lifeOf(pid, textOf(`${scratch}/marks-${pid}`), from)
