/** The head of the chart: what the test did to everybody, with its labels, and the seconds. */
import { seconds } from "./happenings.ts"
import type { Lanes, Line } from "./lanes.ts"
import { escape, hinted, place, side } from "./markup.ts"
import { ticks } from "./ticks.ts"

/** Labels that have room here have it at every width: this is the plot of a page 900 wide. */
const narrowest = 640
const letterWidth = 7.4
const labelPadding = 14
const longestLabel = 250
const labelRows = 3
const most = 8

interface Chip {
  readonly at: number
  readonly kind: Line["kind"]
  readonly text: string
  readonly hint: string
  readonly row: number
  readonly width: number
  readonly leftwards: boolean
}

export const axisOf = (all: Lanes): string => {
  const chips = chipsOf(all)
  const labelled = Math.max(0, ...chips.map(({ row }) => row + 1))
  const rows = labelled + (chips.some(({ row }) => row < 0) ? 1 : 0)
  return `<div class="axis" style="--rows:${rows}"><div class="corner">time</div><div class="plot">${chips
    .map((chip) => chipOf(chip, rows, all))
    .join("")}${ticks(all.from, all.to, most)
    .map(
      ({ at, label }) =>
        `<span class="tick${edge(at, all)}" style="left:${place(at, all.from, all.to)}">${escape(label)}</span>`
    )
    .join("")}</div></div>`
}

/** Vertical lines over the height of all lanes: those of the axis behind the bars, those of the test before them. */
export const rulesOf = (all: Lanes): string => {
  const rule = (at: number, kind: string) => `<i class="rule${kind}" style="left:${place(at, all.from, all.to)}"></i>`
  const marked = ticks(all.from, all.to, most).map(({ at }) => rule(at, ""))
  const done = joined(all).map(({ at, kind }) => rule(at, ` r-${kind}`))
  return [
    `<div class="rules" aria-hidden="true">${marked.join("")}</div>`,
    `<div class="rules lines" aria-hidden="true">${done.join("")}</div>`
  ].join("\n")
}

const edge = (at: number, { from, to }: Lanes): string => {
  const where = (at - from) / (to - from)
  return where < 0.03 ? " first" : where > 0.97 ? " last" : ""
}

interface Joined {
  readonly at: number
  readonly kind: Line["kind"]
  readonly lines: ReadonlyArray<Line>
}

/** Lines that nobody could tell apart are one. */
const joined = (all: Lanes): ReadonlyArray<Joined> => {
  const found: Array<Joined> = []
  for (const line of all.lines) {
    const last = found.at(-1)
    if (last !== undefined && line.at - last.at <= 0.005 * (all.to - all.from)) {
      const kind = line.kind === "fault" ? "fault" : last.kind
      found[found.length - 1] = { at: last.at, kind, lines: [...last.lines, line] }
    } else found.push({ at: line.at, kind: line.kind, lines: [line] })
  }
  return found
}

const labelOf = (lines: ReadonlyArray<Line>): string => {
  const [first] = lines
  if (lines.length === 1) return first!.text
  const word = (line: Line) => (line.kind === "signal" ? line.text.split(" ", 1)[0] : line.text)
  return lines.every((line) => word(line) === word(first!))
    ? `${word(first!)} ×${lines.length}`
    : `${first!.text} +${lines.length - 1}`
}

/** A label has the first row with room; one without any is left out, and its hint stays with a dot on the last row. */
const chipsOf = (all: Lanes): ReadonlyArray<Chip> => {
  const taken: Array<number> = Array.from({ length: labelRows }, () => -Infinity)
  return joined(all).map(({ at, kind, lines }) => {
    const x = ((at - all.from) / (all.to - all.from)) * narrowest
    const text = labelOf(lines)
    const width = Math.min(longestLabel, Math.ceil(text.length * letterWidth) + labelPadding)
    const leftwards = x + width > narrowest && x > width
    const begin = leftwards ? x - width : x
    const row = taken.findIndex((end) => end <= begin)
    if (row >= 0) taken[row] = begin + width + 6
    const hint = lines.map((line) => `${seconds(line.at)}  ${line.text}`).join("\n")
    return { at, kind, text: row < 0 ? "" : text, hint, row, width, leftwards: leftwards && row >= 0 }
  })
}

const chipOf = ({ at, hint, kind, leftwards, row, text, width }: Chip, rows: number, all: Lanes): string =>
  hinted({
    className: `chip c-${kind}${text === "" ? " bare" : ""}${leftwards ? " left" : ""}`,
    style: `${leftwards ? `right:${place(all.from + all.to - at, all.from, all.to)}` : `left:${place(at, all.from, all.to)}`};--row:${row < 0 ? rows - 1 : row}${text === "" ? "" : `;max-width:${width}px`}`,
    side: side(at, all.from, all.to),
    hint,
    ...(text === "" ? {} : { inner: `<span>${escape(text)}</span>` })
  })
