/** Lines of the screen: text in pieces, each with what it means. How a meaning looks is decided where it is drawn. */
import type { Hit } from "../api.ts"
import { cutEnd, head, printable, widthOf } from "./text.ts"

export type Tone = "plain" | "faint" | "path" | "match" | "title" | "key" | "good" | "busy" | "wrong"

export interface Span {
  readonly text: string
  readonly tone: Tone
}

export type Line = ReadonlyArray<Span>

export const span = (text: string, tone: Tone = "plain"): Span => ({ text, tone })

export const lineWidth = (line: Line): number => line.reduce((sum, { text }) => sum + widthOf(text), 0)

/** Exactly `width` columns: cut where it is longer, filled up where it is shorter. */
export const fit = (line: Line, width: number): Line => {
  const fitted: Array<Span> = []
  let left = lineWidth(line) > width ? width - 1 : width
  const isCut = left < width
  for (const { text, tone } of line) {
    const part = widthOf(text) <= left ? text : head(text, left)
    if (part !== "") fitted.push({ text: part, tone })
    left -= widthOf(part)
    if (part !== text) break
  }
  const rest = `${isCut && width > 0 ? "…" : ""}${" ".repeat(Math.max(left, 0))}`
  return rest === "" ? fitted : [...fitted, span(rest)]
}

/** `left` from the left, `right` up to the right edge; where there is no place for both, `right` stays. */
export const sides = (left: Line, right: Line, width: number): Line => {
  const taken = lineWidth(right)
  return taken > width ? fit(left, width) : [...fit(left, width - taken), ...right]
}

/** All of it steps back: what is shown may be old. */
export const faint = (line: Line): Line =>
  line.map(({ text, tone }) => span(text, tone === "match" ? "match" : "faint"))

/** A line that was found, beginning where its first match can be seen. */
export const found = ({ matches, text }: Hit, width: number): Line => {
  const indent = text.length - text.trimStart().length
  const first = matches[0] ?? { start: indent, end: indent }
  const from = startFor(text, Math.min(indent, first.start), first, width)
  const spans: Array<Span> = from > indent ? [span("…", "faint")] : []
  let at = from
  for (const { end, start } of matches) {
    if (start < at) continue
    spans.push(span(printable(text.slice(at, start))), span(printable(text.slice(start, end)), "match"))
    at = end
  }
  return [...spans, span(printable(text.slice(at).trimEnd()))].filter(({ text }) => text !== "")
}

const startFor = (
  text: string,
  indent: number,
  match: { readonly start: number; readonly end: number },
  width: number
) => {
  if (widthOf(printable(text.slice(indent, match.end))) <= width - 1) return indent
  const wanted = Math.max(indent, match.start - Math.floor(width / 4))
  const unit = text.charCodeAt(wanted)
  return unit >= 0xdc00 && unit <= 0xdfff ? wanted + 1 : wanted
}

/** A name and a line across the screen. */
export const rule = (name: Line, width: number): Line => {
  const [begin, end] = [span("── ", "faint"), span(" ", "faint")]
  const named = lineWidth(name) > width - 6 ? fit(name, Math.max(width - 6, 0)) : name
  const left = width - lineWidth(named) - 4
  return left < 1 ? fit(named, width) : [begin, ...named, end, span("─".repeat(left), "faint")]
}

export const words = (text: string, width: number, tone: Tone = "plain"): Line => [span(cutEnd(text, width), tone)]
