/** Collects what happens in a test, and puts it together with what its processes noted and logged. */
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import type { Life } from "../Observation.ts"
import type { Happening, Timeline } from "../Timeline.ts"
import { livesIn, textOf } from "./marks.ts"
import { type Origin, since } from "./stamp.ts"

type Told<H> = H extends Happening ? Omit<H, "at"> : never
/** A happening of now. */
export type What = Told<Happening>

const isNoNews = (told: ReadonlyArray<Happening>, what: What): boolean => {
  const last = told.findLast((one) =>
    what._tag === "Seen" ? one._tag === "Seen" && one.client === what.client : one._tag === what._tag
  )
  return last !== undefined && JSON.stringify({ ...last, at: 0 }) === JSON.stringify({ at: 0, ...what })
}

const statuses: Readonly<Record<string, string>> = {
  "after-register": "starting",
  ready: "ready",
  failed: "failed",
  stopping: "stopping"
}

/** What a process noted of its life, as happenings. */
export const happeningsOf = ({ code, from, ordered, pid, role, steps, to }: Life): ReadonlyArray<Happening> => [
  { _tag: "Started", at: from, pid, role },
  ...steps.flatMap(({ at, step }): ReadonlyArray<Happening> => {
    const status = statuses[step]
    return [
      { _tag: "Step", at, pid, step },
      ...(status === undefined ? [] : [{ _tag: "Status" as const, at, pid, status }])
    ]
  }),
  ...ordered.map(({ at, signal }): Happening => ({ _tag: "Signal", at, pid, signal })),
  ...(to === undefined ? [] : [{ _tag: "Ended" as const, at: to, pid, code: code ?? null }])
]

/** What a contender prints has a time, and no level and instance. */
const entry = /^(\d{4}-\S+Z) (?:([A-Z]+) +([0-9a-f-]{8}) )?(.*)$/
/** An owner's first entry. */
const beginning = /^starting .*, epoch (\d+), .* pid (\d+),/

/** Lines of a log since the test began; what was printed without a stamp stands at the time of the line before it. */
export const linesOf = (log: string, from: Origin): ReadonlyArray<Happening> => {
  const pids = new Map<string, number>()
  let [at, pid]: [number, number | undefined] = [0, undefined]
  return log.split("\n").flatMap((line): ReadonlyArray<Happening> => {
    const [, time, level, instance, text = ""] = entry.exec(line) ?? []
    const [, epoch, own] = beginning.exec(text) ?? []
    if (own !== undefined) pids.set(instance!, Number(own))
    if (time !== undefined) [at, pid] = [Math.max(0, Date.parse(time) - from.wall), pids.get(instance ?? "")]
    if (line.trim() === "") return []
    return [
      ...(own === undefined ? [] : [{ _tag: "Epoch" as const, at, pid: Number(own), epoch: Number(epoch) }]),
      {
        _tag: "Log",
        at,
        text: time === undefined ? line : level === undefined ? text : `${level} ${text}`,
        ...(pid === undefined ? {} : { pid })
      }
    ]
  })
}

/** The first `Started` and the first `Ended` of each process: it may have been noticed by several. */
const once = (happenings: ReadonlyArray<Happening>): ReadonlyArray<Happening> => {
  const seen = new Set<string>()
  return happenings.filter((one) => {
    if (one._tag !== "Started" && one._tag !== "Ended") return true
    const key = `${one._tag} ${one.pid}`
    return !seen.has(key) && seen.add(key)
  })
}

export interface Recorder {
  readonly add: (what: What) => void
  readonly happenings: () => ReadonlyArray<Happening>
  readonly timeline: (title: string, failure?: string) => Timeline
}

export const recorder = (paths: ServicePaths, scratch: string, from: Origin): Recorder => {
  const told: Array<Happening> = []
  const happenings = () => {
    const all = [...livesIn(scratch, from).flatMap(happeningsOf), ...told, ...linesOf(textOf(paths.log), from)]
    return once(all.toSorted((a, b) => a.at - b.at))
  }
  return {
    happenings,
    add: (what) => {
      // a look that shows what the one before it showed is no news
      if ((what._tag === "Note" || what._tag === "Seen") && isNoNews(told, what)) return
      told.push({ at: since(from), ...what } as Happening)
    },
    timeline: (title, failure) => ({
      title,
      ...(failure === undefined ? {} : { failure }),
      durationMs: since(from),
      happenings: happenings()
    })
  }
}
