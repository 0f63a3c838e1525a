/** The lanes as letters: one row for each process and client, time from left to right, at most 100 columns. */
import { printable } from "./happenings.ts"
import type { Lane, Lanes } from "./lanes.ts"
import type { Span } from "./spans.ts"
import { ticks } from "./ticks.ts"

const columns = 100
const endingColumns = 10
const nameColumns = 24
/** With more processes than this, those that only came and went are one row. */
const manyProcesses = 14

export const picture = (all: Lanes): ReadonlyArray<string> => {
  const processes = all.lanes.filter(({ kind }) => kind === "process")
  const folded = processes.length > manyProcesses ? processes.filter(isPlain) : []
  const shown = all.lanes.filter((lane) => lane.kind !== "log" && !folded.includes(lane))
  const first = Math.min(nameColumns, Math.max(6, ...shown.map((lane) => nameOf(lane).length)))
  const width = columns - first - 1 - endingColumns
  const cell = (at: number) =>
    Math.max(0, Math.min(width - 1, Math.floor(((at - all.from) / (all.to - all.from)) * width)))
  const rows = shown.flatMap((lane) => [
    row(fitted(nameOf(lane), first), lifeOf(lane, width, cell), lane.ending?.text ?? ""),
    ...(lane.held.length === 0 ? [] : [row("  lock".padEnd(first), heldOf(lane, width, cell), "")])
  ])
  return [
    ...rows,
    ...(folded.length === 0 ? [] : [foldedRow(folded)]),
    row(" ".repeat(first), axis(all, width), ""),
    ...legend(shown)
  ]
}

const row = (name: string, cells: ReadonlyArray<string>, ending: string): string =>
  `${name} ${cells.join("")} ${ending.slice(0, endingColumns - 1)}`.trimEnd()

const isPlain = ({ held, marks, status }: Lane): boolean =>
  held.length + status.length === 0 && marks.every(({ kind }) => kind === "log" || kind === "step")

const nameOf = ({ kind, name, role }: Lane): string =>
  printable(kind === "client" ? `client ${name}` : `${name} ${role}`)
    .replaceAll(/\s+/g, " ")
    .trim()

const fitted = (name: string, width: number): string =>
  name.length > width ? `${name.slice(0, width - 1)}…` : name.padEnd(width)

type Cell = (at: number) => number

/** Each span has a cell of its own, if need be the one after the cell it begins in, so that a short one is seen. */
const paint = (cells: Array<string>, spans: ReadonlyArray<Span>, cell: Cell, letters: (span: Span) => string): void => {
  let taken = -1
  for (const span of spans) {
    const begin = Math.min(cells.length - 1, Math.max(cell(span.from), Math.min(taken + 1, cell(span.from) + 1)))
    const text = letters(span)
    for (let at = begin; at <= Math.max(begin, cell(span.to)); at++) cells[at] = text[at - begin] ?? text.at(-1)!
    taken = begin
  }
}

const lifeOf = (lane: Lane, width: number, cell: Cell): ReadonlyArray<string> => {
  const cells = Array.from({ length: width }, () => " ")
  if (lane.kind === "process") cells.fill("-", cell(lane.from), cell(lane.to) + 1)
  paint(cells, lane.status, cell, ({ short }) => short[0] ?? "o")
  if (lane.ending !== undefined) cells[cell(lane.to)] = "x"
  for (const { at, kind } of lane.marks) {
    if (kind === "note") cells[cell(at)] = "n"
    // the end of what was killed is seen next to the signal
    if (kind === "signal" || kind === "fault") cells[before(lane, cell, at)] = "!"
  }
  return cells
}

const before = (lane: Lane, cell: Cell, at: number): number =>
  lane.ending !== undefined && cell(at) === cell(lane.to) ? Math.max(0, cell(at) - 1) : cell(at)

const heldOf = (lane: Lane, width: number, cell: Cell): ReadonlyArray<string> => {
  const cells = Array.from({ length: width }, () => " ")
  paint(cells, lane.held, cell, ({ short, tone }) => (tone === "epoch" ? "e" : short === "L" ? "L" : `${short}L`))
  return cells
}

const axis = (all: Lanes, width: number): ReadonlyArray<string> => {
  const cells = Array.from({ length: width }, () => " ")
  let free = 0
  for (const { at, label } of ticks(all.from, all.to, Math.floor(width / 10))) {
    const begin = Math.round(((at - all.from) / (all.to - all.from)) * width)
    const text = `|${label}`
    if (begin < free || begin + text.length > width) continue
    cells.splice(begin, text.length, ...text)
    free = begin + text.length + 1
  }
  return cells
}

const foldedRow = (lanes: ReadonlyArray<Lane>): string => {
  const endings = new Map<string, number>()
  for (const { ending } of lanes) {
    const text = ending?.text ?? "still there"
    endings.set(text, (endings.get(text) ?? 0) + 1)
  }
  const counted = [...endings].map(([text, count]) => `${count} ${text}`).join(", ")
  const all = `and ${lanes.length} more that never had the lock: ${counted}`
  return all.length > columns ? `${all.slice(0, columns - 1)}…` : all
}

const meanings: ReadonlyArray<readonly [letter: string, meaning: string]> = [
  ["-", "there"],
  ["s", "starting"],
  ["R", "ready"],
  ["d", "stopping"],
  ["F", "failed"],
  [".", "missing"],
  ["u", "unreachable"],
  ["z", "unresponsive"]
]

/** Only what the picture has. */
const legend = (lanes: ReadonlyArray<Lane>): ReadonlyArray<string> => {
  const statuses = new Set(
    lanes.filter(({ kind }) => kind !== "fence").flatMap(({ status }) => status.map(({ name }) => name))
  )
  const others = lanes
    .filter(({ kind }) => kind !== "fence")
    .flatMap(({ status }) => status)
    .filter(({ name }) => !meanings.some(([, meaning]) => meaning === name))
  const has = (kind: string) => lanes.some(({ marks }) => marks.some((mark) => mark.kind === kind))
  const parts = [
    ...meanings.filter(([, meaning]) => statuses.has(meaning)).map(([letter, meaning]) => `${letter} ${meaning}`),
    ...new Set(others.map(({ name, short }) => `${short} ${printable(name)}`)),
    ...(lanes.some(({ kind }) => kind === "process") ? ["- there, no status"] : []),
    ...(lanes.some(({ held }) => held.some(({ tone }) => tone === "lock")) ? ["L lock held"] : []),
    ...(lanes.some(({ held, kind }) => kind === "fence" || held.some(({ short }) => short !== "L")) ? ["1 epoch"] : []),
    ...(lanes.some(({ held }) => held.some(({ tone }) => tone === "epoch")) ? ["e epoch without the lock"] : []),
    ...(has("signal") || has("fault") ? ["! signal or fault"] : []),
    ...(has("note") ? ["n note"] : []),
    ...(lanes.some(({ ending }) => ending !== undefined) ? ["x end"] : [])
  ]
  const lines: Array<string> = []
  for (const part of parts) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + part.length + 3 <= columns) lines[lines.length - 1] = `${last}   ${part}`
    else lines.push(part.slice(0, columns))
  }
  return lines
}
