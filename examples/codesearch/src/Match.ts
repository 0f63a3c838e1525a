import type { Hit, Span } from "./api.ts"
import type { Chunk } from "./Chunk.ts"

/** The longest `Hit.text`, in UTF-16 code units, the "…" not counted. */
export const longestText = 400

const before = 100

/**
 * The pattern that finds a query literally, whatever the case. Upper and lower case are compared one character
 * with one, as Unicode's simple case folding does: "ß" does not find "SS".
 */
export const pattern = (query: string): RegExp => new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu")

/**
 * The full-text expression that every chunk containing the query satisfies; others may satisfy it too. It is
 * `undefined` for a query of fewer than three characters, which the index cannot help with.
 */
export const trigrams = (query: string): string | undefined => {
  const characters = Array.from(query)
  const terms = new Set<string>()
  for (let at = 0; at + 3 <= characters.length; at++) {
    terms.add(
      `"${characters
        .slice(at, at + 3)
        .join("")
        .replaceAll('"', '""')}"`
    )
  }
  return terms.size === 0 ? undefined : [...terms].join(" AND ")
}

/** A query no line can contain: nothing at all, or more than one line. */
export const impossible = (query: string): boolean => query === "" || /[\n\r\0]/.test(query)

/** The lines of one chunk that match, in order, each once, at most `limit`. */
export const hits = (file: string, chunk: Chunk, find: RegExp, limit: number): ReadonlyArray<Hit> => {
  const found: Array<Hit> = []
  const { text } = chunk
  let line = chunk.line
  let counted = 0
  find.lastIndex = 0
  for (let match = find.exec(text); match !== null && found.length < limit; match = find.exec(text)) {
    const lineStart = text.lastIndexOf("\n", match.index - 1) + 1
    const lineBreak = text.indexOf("\n", match.index)
    const lineEnd = lineBreak === -1 ? text.length : lineBreak
    const spans: Array<Span> = []
    while (match !== null && match.index < lineEnd) {
      spans.push({ start: match.index - lineStart, end: match.index + match[0].length - lineStart })
      match = find.exec(text)
    }
    for (let at = text.indexOf("\n", counted); at !== -1 && at < lineStart; at = text.indexOf("\n", at + 1)) {
      line += 1
      counted = at + 1
    }
    const offset = lineStart === 0 ? chunk.column : 0
    const whole = text.slice(lineStart, lineEnd).replace(/\r$/, "")
    found.push({ file, line, column: offset + spans[0]!.start + 1, ...cut(whole, spans, offset > 0) })
    if (match === null) break
    find.lastIndex = match.index
  }
  return found
}

/**
 * A line as people can read it: at most {@link longestText} units around its first match, with "…" where it was
 * cut (also in front when `continued`), and the matches inside what is left.
 */
export const cut = (
  line: string,
  spans: ReadonlyArray<Span>,
  continued = false
): { readonly text: string; readonly matches: ReadonlyArray<Span> } => {
  const first = spans[0]?.start ?? 0
  const latest = Math.max(0, line.length - longestText)
  const from = boundary(line, line.length <= longestText ? 0 : Math.min(Math.max(0, first - before), latest))
  const to = boundary(line, Math.min(line.length, from + longestText))
  const prefix = from > 0 || continued ? "…" : ""
  const shift = prefix.length - from
  return {
    text: prefix + line.slice(from, to) + (to < line.length ? "…" : ""),
    matches: spans.flatMap(({ end, start }) =>
      start >= from && start < to ? [{ start: start + shift, end: Math.min(end, to) + shift }] : []
    )
  }
}

const boundary = (line: string, at: number): number => {
  const unit = line.charCodeAt(at)
  return at > 0 && unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at
}
