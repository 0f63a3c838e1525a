/** The whole screen as lines, each as wide as the terminal: pure, and the same height whatever happens. */
import type { Root } from "../api.ts"
import { type Line, faint, fit, found, lineWidth, rule, sides, span, type Tone, words } from "./spans.ts"
import { activity, count, fileName, instead, keys, placeName, question } from "./shown.ts"
import { chosen, isAnswered, type State } from "./State.ts"
import { statusOf } from "./status.ts"
import { cutMiddle, printable, tail, widthOf } from "./text.ts"

export interface Size {
  readonly columns: number
  readonly rows: number
}

export interface Screen {
  readonly lines: ReadonlyArray<Line>
  /** Where the next letter goes. */
  readonly cursor: { readonly x: number; readonly y: number }
}

/** How many rows each part has; parts that find no place are left out. */
const parts = ({ columns, rows }: Size) => {
  const wide = columns >= 120
  const roots = rows >= 40 ? 4 : rows >= 20 ? 2 : rows >= 14 ? 1 : 0
  const status = wide || rows < 10 ? 1 : 2
  const keys = rows >= 8 ? 1 : 0
  const left = Math.max(rows - 3 - (roots === 0 ? 0 : roots + 1) - status - keys, 0)
  const preview = wide ? left : left >= 10 ? Math.floor(left * 0.45) : 0
  return { wide, roots, status, keys, results: wide ? left : left - preview, preview }
}

export const screen = (state: State, size: Size): Screen => {
  const { columns, rows } = size
  const has = parts(size)
  const half = Math.floor(columns * 0.55)
  const body = has.wide
    ? beside(results(state, half, has.results), preview(state, columns - half - 1, has.preview), half)
    : [...results(state, columns, has.results), ...preview(state, columns, has.preview)]
  const box = query(state, columns)
  const lines = [...box.lines, ...body, ...told(state, columns, has), ...keyLine(state, columns, has.keys)]
  return { lines: lines.slice(0, rows).map((line) => fit(line, columns)), cursor: { x: box.cursor, y: 1 } }
}

const query = (state: State, columns: number) => {
  const inner = Math.max(columns - 4, 1)
  const version = statusOf(state).version
  const title: Line = [
    span("╭─ ", "faint"),
    span(`CodeSearch v${version}`, "title"),
    ...(state.standalone ? [span(" standalone", "busy")] : []),
    span(" ", "faint")
  ]
  const where = state.hereOnly ? `only in ${placeName(state.directory)}` : "everywhere"
  const place: Line = [span(` ${cutMiddle(where, Math.max(columns - lineWidth(title) - 6, 0))} `), span("─╮", "faint")]
  const between = columns - lineWidth(title) - lineWidth(place)
  const number = count(state)
  const typed = tail(printable(state.query), Math.max(inner - widthOf(number) - 2, 1))
  return {
    cursor: Math.min(2 + widthOf(typed), columns - 1),
    lines: [
      [...title, span("─".repeat(Math.max(between, 0)), "faint"), ...place],
      [span("│ ", "faint"), ...sides([span(typed)], [span(number, "faint")], inner), span(" │", "faint")],
      [span(`╰${"─".repeat(Math.max(columns - 2, 0))}╯`, "faint")]
    ] satisfies ReadonlyArray<Line>
  }
}

const filled = (lines: ReadonlyArray<Line>, rows: number): ReadonlyArray<Line> =>
  Array.from({ length: rows }, (_, row) => lines[row] ?? [])

/** The part of the list around the chosen line. */
const windowOf = (length: number, selected: number, rows: number): number =>
  Math.max(0, Math.min(selected - Math.floor(rows / 2), length - rows))

const results = (state: State, width: number, rows: number): ReadonlyArray<Line> => {
  const { directory, hits, selected } = state
  if (hits.length === 0) return filled([words(`  ${instead(state)}`, width, "faint")], rows)
  const old = !isAnswered(state) || !statusOf(state).usable
  const place = Math.min(Math.max(Math.floor(width * 0.35), 14), 56)
  const first = windowOf(hits.length, selected, rows)
  const lines = hits.slice(first, first + rows).map((hit, index): Line => {
    const isChosen = first + index === selected
    const file = cutMiddle(fileName(hit.file, directory), place)
    const before: Line = [
      span(isChosen ? "▸ " : "  ", "key"),
      span(file, isChosen ? "title" : "path"),
      span(`${" ".repeat(place - widthOf(file))} ${String(hit.line).padStart(5)}  `, "faint")
    ]
    const line = [...before, ...found(hit, width - lineWidth(before))]
    return old ? faint(line) : line
  })
  return filled(lines, rows)
}

const preview = (state: State, width: number, rows: number): ReadonlyArray<Line> => {
  const { preview } = state
  const hit = chosen(state)
  if (rows === 0) return []
  if (preview === undefined || hit === undefined) return filled([rule([span("preview", "faint")], width)], rows)
  const place = `:${preview.line}`
  const name = cutMiddle(fileName(preview.file, state.directory), Math.max(width - 6 - place.length, 1))
  const top = preview.line - preview.from
  const shown = rows - 1
  const first = Math.max(0, Math.min(top - Math.floor(shown / 2), preview.lines.length - shown))
  const digits = Math.max(String(preview.from + preview.lines.length).length, 4)
  const old = !statusOf(state).usable
  const lines = preview.lines.slice(first, first + shown).map((text, index): Line => {
    const number = preview.from + first + index
    const isHit = number === preview.line
    const mark: Line = [span(`${isHit ? "▸" : " "}${String(number).padStart(digits)}  `, isHit ? "key" : "faint")]
    // the line that was found is cut around its match in the list; here it is whole
    const whole = isHit && text.startsWith(hit.text) && hit.file === preview.file && hit.line === number
    const line = [...mark, ...(whole ? highlighted(text, hit.matches) : [span(printable(text))])]
    return old ? faint(line) : line
  })
  return filled([rule([span(name, "path"), span(place, "faint")], width), ...lines], rows)
}

const highlighted = (text: string, matches: ReadonlyArray<{ readonly start: number; readonly end: number }>): Line => {
  let at = 0
  const spans = matches.flatMap(({ end, start }) => {
    const part = [span(printable(text.slice(at, start))), span(printable(text.slice(start, end)), "match")]
    at = end
    return part
  })
  return [...spans, span(printable(text.slice(at)))].filter(({ text }) => text !== "")
}

const beside = (left: ReadonlyArray<Line>, right: ReadonlyArray<Line>, width: number): ReadonlyArray<Line> =>
  left.map((line, row) => [...fit(line, width), span("│", "faint"), ...(right[row] ?? [])])

const bar = (part: number): string => {
  const done = Math.round(part * 10)
  return `${"█".repeat(done)}${"░".repeat(10 - done)} `
}

const mark: Readonly<Record<Root["state"], readonly [string, Tone]>> = {
  scanning: ["◌", "busy"],
  indexing: ["◌", "busy"],
  watching: ["●", "good"],
  failed: ["✗", "wrong"]
}

const roots = (state: State, width: number, rows: number): ReadonlyArray<Line> => {
  if (rows === 0) return []
  const old = !statusOf(state).usable
  const all = state.roots.toSorted((one, other) => urgency(one) - urgency(other))
  const more = all.length > rows ? all.length - rows + 1 : 0
  const place = Math.min(Math.max(Math.floor(width * 0.45), 14), 80)
  const lines = all.slice(0, more > 0 ? rows - 1 : rows).map((root): Line => {
    const name = cutMiddle(placeName(root.path), place)
    const [sign, tone] = mark[root.state]
    const gap = " ".repeat(place - widthOf(name) + 2)
    const line = [span(sign, tone), span(` ${name}${gap}`), span(activity(root, bar), tone === "good" ? "faint" : tone)]
    return old ? faint(line) : line
  })
  const rest: ReadonlyArray<Line> = more > 0 ? [words(`  and ${more} more`, width, "faint")] : []
  const none: ReadonlyArray<Line> = all.length === 0 ? [words("  none yet", width, "faint")] : []
  return [rule([span("indexed directories", "faint")], width), ...filled([...lines, ...rest, ...none], rows)]
}

/** What needs attention first. */
const urgency = ({ state }: Root): number => ["failed", "scanning", "indexing", "watching"].indexOf(state)

/** The status takes what it needs from the rows of the directories; together they are always as high. */
const told = (state: State, width: number, has: { readonly roots: number; readonly status: number }) => {
  const most = has.status + Math.max(has.roots - 1, 0)
  const wanted = status(state, width, has.status, width >= 120 ? has.status : most)
  return [...roots(state, width, has.roots + has.status - wanted.length), ...wanted]
}

const status = (state: State, width: number, rows: number, most: number): ReadonlyArray<Line> => {
  const { action, text, usable, version } = statusOf(state)
  const tone: Tone = action === undefined ? (usable ? "good" : "busy") : "wrong"
  if (state.restart === "asked") return filled([words(question, width, "title")], rows)
  const right: Line = text.includes(`v${version}`) ? [] : [span(` v${version}`, "faint")]
  const [first = "", ...rest] = wrapped(text, action, width - lineWidth(right), most)
  const lines = [sides([span(first, tone)], right, width), ...rest.map((line) => [span(line, tone)])]
  return filled(lines, Math.max(lines.length, rows))
}

/** In so many rows; what is to be done is shown whole, and what is wrong is cut where there is no place for all of it. */
export const wrapped = (
  text: string,
  action: string | undefined,
  width: number,
  rows: number
): ReadonlyArray<string> => {
  const whole = action === undefined ? text : `${text} ${action}`
  if (rows > 1 && widthOf(whole) > width && widthOf(text) <= width && widthOf(action ?? "") <= width)
    return [text, action ?? ""]
  for (let place = widthOf(text); ; place = Math.min(Math.floor(place * 0.9), place - 1)) {
    const lines = [""]
    for (const word of `${cutMiddle(text, place)} ${action ?? ""}`.trim().split(" ")) {
      const line = lines.at(-1)!
      if (line === "" || widthOf(line) + 1 + widthOf(word) <= width) lines[lines.length - 1] = `${line} ${word}`.trim()
      else lines.push(word)
    }
    if (lines.length <= rows || place < 12) return lines.slice(0, rows)
  }
}

const keyLine = (state: State, width: number, rows: number): ReadonlyArray<Line> => {
  const line = keys(state).flatMap(([key, does], index): Line => [
    span(index === 0 ? "" : "  "),
    span(key, "key"),
    span(` ${does}`, "faint")
  ])
  return filled([fit(line, width)], rows)
}
