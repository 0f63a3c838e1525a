import { longestQuery } from "./api.ts"

/** How much text one row of the index holds, in UTF-16 code units; small enough that writing one never blocks long. */
export const chunkSize = 32 * 1024

/**
 * A part of a file: whole lines, or a piece of one line too long for a chunk. `line` counts from 1 and is the
 * line of its first character, `column` counts from 0 and is where in that line it begins (0 for whole lines).
 */
export interface Chunk {
  readonly line: number
  readonly column: number
  readonly text: string
}

/**
 * Cuts a text so that every match of a query (which never spans lines) lies completely in at least one chunk:
 * at line ends, and inside longer lines with an overlap of the longest query. So a match in an overlap is seen
 * twice; the reader keeps one hit for each line.
 */
export const split = (text: string): ReadonlyArray<Chunk> => {
  const chunks: Array<Chunk> = []
  let at = 0
  let line = 1
  while (at < text.length) {
    const end = Math.min(at + chunkSize, text.length)
    const lastBreak = end === text.length ? end - 1 : text.lastIndexOf("\n", end - 1)
    if (lastBreak >= at) {
      const part = text.slice(at, lastBreak + 1)
      chunks.push({ line, column: 0, text: part })
      line += countBreaks(part)
      at = lastBreak + 1
    } else {
      const lineBreak = text.indexOf("\n", end)
      const lineEnd = lineBreak === -1 ? text.length : lineBreak
      for (let from = at; ; from += chunkSize - longestQuery) {
        chunks.push({ line, column: from - at, text: text.slice(from, Math.min(from + chunkSize, lineEnd)) })
        if (from + chunkSize >= lineEnd) break
      }
      line += 1
      at = lineEnd + 1
    }
  }
  return chunks
}

const countBreaks = (text: string): number => {
  let count = 0
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1
  return count
}
