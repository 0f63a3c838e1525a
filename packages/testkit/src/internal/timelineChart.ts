/** The lanes as HTML. Positions are percentages, so that the picture fits any width without a script. */
import { seconds } from "./happenings.ts"
import type { Lane, Lanes, Mark, MarkKind } from "./lanes.ts"
import { escape, hinted, place, side } from "./markup.ts"
import { toneNames } from "./palette.ts"
import type { Span } from "./spans.ts"
import { axisOf, rulesOf } from "./timelineAxis.ts"

/** Marks nearer to each other than this part of the whole are one: at the least width they would be one blot. */
const near = 0.012
const hintLines = 12

export const chart = (all: Lanes): string => {
  const groups = (["test", "process", "client"] as const).map((group) =>
    all.lanes.filter((lane) => groupOf(lane) === group)
  )
  return `<div class="scroll"><div class="chart">
${axisOf(all)}
${rulesOf(all)}
${groups
  .filter((lanes) => lanes.length > 0)
  .map((lanes) => `<div class="group">\n${lanes.map((lane) => laneOf(lane, all)).join("\n")}\n</div>`)
  .join("\n")}
</div></div>`
}

const groupOf = ({ kind }: Lane): string => (kind === "process" || kind === "client" ? kind : "test")

const laneOf = (lane: Lane, all: Lanes): string => {
  const role = lane.kind === "client" ? "client" : lane.role
  const title = `${lane.name} ${role}`.trim()
  const ending =
    lane.ending === undefined
      ? ""
      : `<span class="ending${lane.ending.well ? "" : " ill"}">${escape(lane.ending.text)}</span>`
  const classes = ["lane", lane.kind, ...(isThin(lane) ? ["thin"] : [])].join(" ")
  return `<div class="${classes}" role="group" aria-label="${escape(title)}"><div class="name" title="${escape(title)}"><b>${escape(lane.name)}</b> <span class="role">${escape(role)}</span>${ending}</div><div class="plot">${[
    lifeline(lane, all),
    ...lane.status.map((span) => bar("status", span, all)),
    ...lane.held.map((span) => bar("held", span, all)),
    ...clusters(lane.marks, all).map((cluster) => markOf(cluster, all))
  ].join("")}</div></div>`
}

const isThin = ({ held, kind, status }: Lane): boolean => kind !== "client" && held.length + status.length === 0

const across = (from: number, to: number, all: Lanes): string =>
  `left:${place(from, all.from, all.to)};width:${place(all.from + to - from, all.from, all.to)}`

const lifeline = (lane: Lane, all: Lanes): string => {
  if (lane.kind !== "process") return ""
  const end = lane.ending === undefined ? "" : lane.ending.well ? " well" : " ill"
  const said = lane.ending === undefined ? "still there" : lane.ending.text
  const hint = `${lane.name} ${lane.role}\n${seconds(lane.from)} to ${seconds(lane.to)}: ${said}`
  return hinted({
    className: `life${end}`,
    style: across(lane.from, lane.to, all),
    side: side(lane.from, all.from, all.to),
    hint
  })
}

const known: ReadonlySet<string> = new Set(toneNames)

/** A bar with its name, one letter of it, or nothing, as there is room. */
const bar = (row: "status" | "held", span: Span, all: Lanes): string => {
  const tone = known.has(span.tone) ? span.tone : "other"
  const only = span.details.length === 1 ? `: ${span.details[0]!.text}` : ""
  const hint = [
    `${span.name}, ${seconds(span.from)} to ${seconds(span.to)}`,
    ...(only === "" ? [] : [span.details[0]!.text]),
    ...(span.details.length > 1 ? shortened(span.details.map(({ at, text }) => `${seconds(at)}  ${text}`)) : [])
  ].join("\n")
  const size = span.name.length < 6 ? "w1" : span.name.length < 10 ? "w2" : span.name.length < 15 ? "w3" : "w4"
  return hinted({
    className: `bar ${row} t-${tone}`,
    style: across(span.from, span.to, all),
    side: side(span.from, all.from, all.to),
    hint,
    inner: `<span class="label ${size}">${escape(`${span.name}${only}`)}</span><span class="letter ${size}">${escape(span.short)}</span>`
  })
}

interface Cluster {
  kind: MarkKind
  readonly from: number
  to: number
  readonly marks: Array<Mark>
}

const weight: Readonly<Record<MarkKind, number>> = { log: 0, step: 1, note: 2, signal: 3, fault: 4 }

/** What the test did stands alone from what the process says: the one is never hidden in the other. */
const clusters = (marks: ReadonlyArray<Mark>, all: Lanes): ReadonlyArray<Cluster> =>
  [marks.filter(({ kind }) => weight[kind] < 2), marks.filter(({ kind }) => weight[kind] >= 2)].flatMap((marks) => {
    const found: Array<Cluster> = []
    for (const mark of marks) {
      const last = found.at(-1)
      if (last !== undefined && mark.at - last.from <= near * (all.to - all.from)) {
        last.kind = weight[mark.kind] > weight[last.kind] ? mark.kind : last.kind
        last.to = mark.at
        last.marks.push(mark)
      } else found.push({ kind: mark.kind, from: mark.at, to: mark.at, marks: [mark] })
    }
    return found
  })

const markOf = ({ from, kind, marks, to }: Cluster, all: Lanes): string =>
  hinted({
    className: `mark m-${kind}${marks.length > 1 ? " many" : ""}`,
    style: across(from, to, all),
    side: side(from, all.from, all.to),
    hint: shortened(marks.map(({ at, what }) => `${seconds(at)}  ${what}`)).join("\n"),
    inner: "<i></i>"
  })

const shortened = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const cut = lines.map((line) => (line.length > 600 ? `${line.slice(0, 600)}…` : line))
  return cut.length <= hintLines
    ? cut
    : [...cut.slice(0, hintLines - 2), `… ${cut.length - hintLines + 1} more, in the table below`, cut.at(-1)!]
}
