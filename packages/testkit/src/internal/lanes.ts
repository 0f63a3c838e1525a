/** Happenings folded into lanes: one for what the test did, one for each process and each client. */
import type { Happening, Timeline } from "../Timeline.ts"
import { describe } from "./happenings.ts"
import { isDeed, type Life, livesOf, type Of } from "./lives.ts"
import { type Change, type Span, spans } from "./spans.ts"

export type MarkKind = "step" | "signal" | "fault" | "log" | "note"

export interface Mark {
  readonly kind: MarkKind
  readonly at: number
  readonly who: string
  readonly what: string
}

/** `ending` is how a process ended, in a word or two; absent while it runs. */
export interface Lane {
  readonly kind: "test" | "log" | "fence" | "process" | "client"
  readonly name: string
  readonly role: string
  readonly from: number
  readonly to: number
  readonly ending?: { readonly text: string; readonly well: boolean }
  readonly status: ReadonlyArray<Span>
  readonly held: ReadonlyArray<Span>
  readonly marks: ReadonlyArray<Mark>
}

/** What the test did to everybody: drawn across all lanes. */
export interface Line {
  readonly kind: "signal" | "fault"
  readonly at: number
  readonly text: string
}

export interface Lanes {
  readonly from: number
  readonly to: number
  readonly happenings: ReadonlyArray<Happening>
  readonly lanes: ReadonlyArray<Lane>
  readonly lines: ReadonlyArray<Line>
}

/** Harmless to a process's life; any other signal may be what ended it. */
const harmless = /^SIG(STOP|CONT|TSTP|WINCH|CHLD|URG)$/

export const lanesOf = (timeline: Timeline): Lanes => {
  const finite = timeline.happenings.map(({ at }) => at).filter(Number.isFinite)
  const from = finite.reduce((least, at) => Math.min(least, at), 0)
  const to = finite.reduce(
    (most, at) => Math.max(most, at),
    Math.max(from + 1, Number.isFinite(timeline.durationMs) ? timeline.durationMs : 0)
  )
  const happenings = timeline.happenings
    .map((one) => (Number.isFinite(one.at) ? one : { ...one, at: one.at > 0 ? to : from }))
    .sort((a, b) => a.at - b.at)

  const { lifeOf, lives } = livesOf(happenings)
  const epochs = happenings.filter((one) => one._tag === "Epoch")
  const process = (life: Life): Lane => {
    const own = happenings.filter((one) => lifeOf(one) === life)
    const end = life.ended?.at ?? to
    const within = own.filter(({ at }) => at <= end)
    return {
      kind: "process",
      name: String(life.pid),
      role: life.role,
      from: life.from,
      to: end,
      ...(life.ended === undefined ? {} : { ending: endingOf(life.ended, within) }),
      status: spans(
        within.flatMap((one) => (one._tag === "Status" ? [stated(one)] : [])),
        end
      ),
      held: spans(holding(life.pid, [...within.filter((one) => one._tag !== "Epoch"), ...epochs], life.from), end),
      marks: marksOf(own)
    }
  }
  const client = (name: string): Lane => {
    const own = happenings.filter((one) => one._tag === "Seen").filter((one) => one.client === name)
    const begin = own[0]!.at
    return { ...bare("client", name, begin, to), status: spans(own.map(stated), to) }
  }

  const accepted = happenings.flatMap((one) =>
    one._tag === "Fenced"
      ? [{ at: one.at, tone: "fence", name: `accepts epoch ${one.epoch}`, short: `${one.epoch}` }]
      : []
  )
  const test: Lane = { ...bare("test", "test", from, to), marks: marksOf(happenings.filter(isDeed)) }
  const log: Lane = {
    ...bare("log", "log", from, to),
    marks: marksOf(happenings.filter((one) => one._tag === "Log" && lifeOf(one) === undefined))
  }
  const clients = new Set(happenings.flatMap((one) => (one._tag === "Seen" ? [one.client] : [])))
  return {
    from,
    to,
    happenings,
    lanes: [
      ...[test, log].filter(({ marks }) => marks.length > 0),
      ...(accepted.length === 0 ? [] : [{ ...bare("fence", "fence", from, to), status: spans(accepted, to) }]),
      ...lives.map(process),
      ...[...clients].map(client)
    ],
    lines: happenings.flatMap(lineOf)
  }
}

const lineOf = (one: Happening): ReadonlyArray<Line> =>
  one._tag === "Signal"
    ? [{ kind: "signal", at: one.at, text: `${one.signal} ${one.pid}` }]
    : one._tag === "Fault"
      ? [{ kind: "fault", at: one.at, text: one.text }]
      : []

const endingOf = ({ code }: Of<"Ended">, own: ReadonlyArray<Happening>): NonNullable<Lane["ending"]> => {
  if (code !== null) return { text: `exit ${code}`, well: code === 0 }
  const signals = own.flatMap((one) => (one._tag === "Signal" && !harmless.test(one.signal) ? [one.signal] : []))
  return { text: signals.at(-1) ?? "gone", well: false }
}

const stated = ({ at, detail, status }: Of<"Status" | "Seen">): Change => ({
  at,
  tone: status,
  name: status || "no status",
  short: letterOf(status),
  ...(detail === undefined ? {} : { detail })
})

/** What a process holds: the lock, an epoch, or both. An epoch of somebody else ends its own. */
const holding = (pid: number, changes: ReadonlyArray<Happening>, from: number): ReadonlyArray<Change> => {
  let locked = false
  let epoch: number | undefined
  return changes
    .filter(({ at }) => at >= from)
    .sort((a, b) => a.at - b.at)
    .map((one) => {
      if (one._tag === "Locked") locked = true
      if (one._tag === "Unlocked") locked = false
      if (one._tag === "Epoch") epoch = one.pid === pid ? one.epoch : undefined
      const number = epoch === undefined ? [] : [`epoch ${epoch}`]
      const name = [...(locked ? ["lock"] : []), ...number].join(" · ")
      const short = epoch === undefined ? "L" : `${epoch}`
      return { at: one.at, tone: locked ? "lock" : "epoch", name, short }
    })
}

const letters: ReadonlyMap<string, string> = new Map([
  ["starting", "s"],
  ["ready", "R"],
  ["stopping", "d"],
  ["failed", "F"],
  ["missing", "."],
  ["unreachable", "u"],
  ["unresponsive", "z"]
])

/** One letter for a status, the same in text and HTML. */
export const letterOf = (status: string): string =>
  letters.get(status) ?? (/[a-z]/i.exec(status)?.[0] ?? "o").toLowerCase()

const bare = (kind: Lane["kind"], name: string, from: number, to: number): Lane => ({
  kind,
  name,
  role: "",
  from,
  to,
  status: [],
  held: [],
  marks: []
})

const kinds: Readonly<Partial<Record<Happening["_tag"], MarkKind>>> = {
  Step: "step",
  Signal: "signal",
  Fault: "fault",
  Log: "log",
  Note: "note"
}

const marksOf = (own: ReadonlyArray<Happening>): ReadonlyArray<Mark> =>
  own.flatMap((one) => {
    const kind = kinds[one._tag]
    return kind === undefined ? [] : [{ kind, at: one.at, ...describe(one) }]
  })
