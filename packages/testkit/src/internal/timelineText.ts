/** A timeline as text of at most 100 columns. */
import type { Happening, Timeline } from "../Timeline.ts"
import { describe, printable, seconds } from "./happenings.ts"
import { type Lanes, lanesOf } from "./lanes.ts"
import { counted, outcome } from "./outcome.ts"
import { picture } from "./timelinePicture.ts"

/** Of a long story, so many happenings of its beginning and of its end. */
const [firstShown, lastShown] = [12, 60]
const logShown = 30
const longest = 400

export const text = (timeline: Timeline): string => {
  const lanes = lanesOf(timeline)
  const logged = lanes.happenings.filter((one) => one._tag === "Log")
  const told = lanes.happenings.filter((one) => one._tag !== "Log")
  return [
    `${oneLine(timeline.title)}: ${oneLine(outcome(timeline))}`,
    headOf(timeline, lanes),
    "",
    ...picture(lanes),
    "",
    ...(told.length === 0 ? ["Nothing happened."] : ["What happened:", ...listed(told)]),
    ...(logged.length === 0 ? [] : ["", ...logOf(logged)])
  ].join("\n")
}

const headOf = (timeline: Timeline, { lanes }: Lanes): string =>
  [seconds(timeline.durationMs), ...counted(lanes)].join(", ")

interface Entry {
  readonly at: number
  readonly until: number
  readonly who: ReadonlyArray<string>
  readonly what: string
  readonly tag: Happening["_tag"]
  readonly times: number
}

/** Those that say the same, one after the other, are one: of one process many times, or of many processes. */
const collapsed = (happenings: ReadonlyArray<Happening>): ReadonlyArray<Entry> => {
  const entries: Array<Entry> = []
  for (const one of happenings) {
    const { who, what } = describe(one)
    const last = entries.at(-1)
    if (last?.tag === one._tag && last.what === what) {
      const known = last.who.includes(who) ? last.who : [...last.who, who]
      entries[entries.length - 1] = { ...last, until: one.at, who: known, times: last.times + 1 }
    } else entries.push({ at: one.at, until: one.at, who: [who], what, tag: one._tag, times: 1 })
  }
  return entries
}

const listed = (happenings: ReadonlyArray<Happening>): ReadonlyArray<string> => {
  const entries = collapsed(happenings)
  if (entries.length <= firstShown + lastShown) return entries.map(lineOf)
  const left = entries.slice(firstShown, -lastShown)
  const many = left.reduce((sum, { times }) => sum + times, 0)
  return [
    ...entries.slice(0, firstShown).map(lineOf),
    `${" ".repeat(13)}… ${many} more, until ${seconds(left.at(-1)!.until)}`,
    ...entries.slice(-lastShown).map(lineOf)
  ]
}

const lineOf = ({ at, tag, times, until, what, who }: Entry): string => {
  const names = who.length > 6 ? `${who.slice(0, 5).join(", ")} and ${who.length - 5} others` : who.join(", ")
  const again = times > who.length ? ` (${times} times, until ${seconds(until)})` : ""
  const sign = tag === "Signal" || tag === "Fault" ? "! " : "  "
  return stamped(at, `${sign}${names === "" ? "" : `${names} `}${what}${again}`)
}

const logOf = (logged: ReadonlyArray<Happening>): ReadonlyArray<string> => {
  const left = logged.length - logShown
  return [
    left > 0 ? `The log, without its first ${left} lines:` : "The log:",
    ...logged.slice(-logShown).map((one) => stamped(one.at, `  ${describe(one).what}`))
  ]
}

const stamped = (at: number, what: string): string => {
  const whole = printable(what)
  const cut = whole.length > longest ? `${whole.slice(0, longest)}… (${whole.length - longest} more)` : whole
  return `${seconds(at).padStart(11)}${cut.replaceAll("\n", `\n${" ".repeat(15)}`)}`
}

const oneLine = (text: string): string => printable(text).replaceAll(/\s+/g, " ").trim()
