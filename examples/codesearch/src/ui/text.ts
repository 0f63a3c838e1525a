/** Text as a terminal shows it: how wide it is, and how it is made to fit. */
import stringWidth from "string-width"

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** In columns of the terminal. */
export const widthOf = (text: string): number => stringWidth(text)

/** Nothing in it moves a cursor, changes a colour or turns the direction of writing; a tab is two spaces. */
export const printable = (text: string): string =>
  text.replaceAll("\t", "  ").replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu, "·")

/** The longest beginning that is at most `width` columns wide; never half a character. */
export const head = (text: string, width: number): string => {
  let [taken, end] = [0, 0]
  for (const { index, segment } of graphemes.segment(text)) {
    taken += widthOf(segment)
    if (taken > width) break
    end = index + segment.length
  }
  return text.slice(0, end)
}

/** The longest end that is at most `width` columns wide. */
export const tail = (text: string, width: number): string => {
  let [taken, start] = [0, text.length]
  for (const { index, segment } of [...graphemes.segment(text)].toReversed()) {
    taken += widthOf(segment)
    if (taken > width) break
    start = index
  }
  return text.slice(start)
}

/** Cut at its end. */
export const cutEnd = (text: string, width: number): string =>
  widthOf(text) <= width ? text : width < 1 ? "" : `${head(text, width - 1)}…`

/** Cut in the middle, as a path is: both where it begins and the name at its end tell the most. */
export const cutMiddle = (text: string, width: number): string => {
  if (widthOf(text) <= width) return text
  if (width < 1) return ""
  const end = tail(text, Math.ceil(((width - 1) * 2) / 3))
  return `${head(text, width - 1 - widthOf(end))}…${end}`
}

/** Without its last character, as a person counts characters. */
export const withoutLast = (text: string): string => text.slice(0, [...graphemes.segment(text)].at(-1)?.index ?? 0)

export const number = (value: number): string => value.toLocaleString("en-US")

export const counted = (value: number, one: string): string => `${number(value)} ${one}${value === 1 ? "" : "s"}`
