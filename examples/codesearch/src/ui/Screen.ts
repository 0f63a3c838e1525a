/** The state drawn with Ink, and the keys of the terminal on their way to it. */
import { Box, type TextProps, Text, useCursor, useInput, usePaste, useWindowSize } from "ink"
import { createElement as h, type ReactNode, useSyncExternalStore } from "react"
import { keyOf } from "./keys.ts"
import { plain } from "./plain.ts"
import type { Line, Tone } from "./spans.ts"
import type { Store } from "./store.ts"
import { screen } from "./view.ts"

export interface Look {
  readonly color: boolean
  /** Plain lines, for a screen reader or a terminal that draws nothing. */
  readonly plain: boolean
}

type Style = Omit<TextProps, "children">

const colored: Readonly<Record<Tone, Style>> = {
  plain: {},
  faint: { dimColor: true },
  path: { color: "cyan" },
  match: { color: "red", bold: true },
  title: { bold: true },
  key: { color: "cyan", bold: true },
  good: { color: "green" },
  busy: { color: "yellow" },
  wrong: { color: "red" }
}

/** Without colours what matters most still stands out. */
const uncolored: Readonly<Record<Tone, Style>> = {
  plain: {},
  faint: { dimColor: true },
  path: {},
  match: { bold: true, underline: true },
  title: { bold: true },
  key: { bold: true },
  good: {},
  busy: {},
  wrong: { bold: true }
}

const draw = (line: Line, styles: Readonly<Record<Tone, Style>>, key: number) =>
  h(
    Text,
    { key, wrap: "truncate" },
    line.length === 0 ? " " : line.map(({ text, tone }, index) => h(Text, { key: index, ...styles[tone] }, text))
  )

export interface Properties {
  readonly store: Store
  readonly look: Look
  /** Told when the screen cannot be drawn. */
  readonly fail: (error: unknown) => void
}

export const Screen = ({ fail, look, store }: Properties): ReactNode => {
  const state = useSyncExternalStore(store.subscribe, store.get)
  const size = useWindowSize()
  const { setCursorPosition } = useCursor()
  useInput((input, pressed) => {
    const key = keyOf(input, pressed)
    if (key !== undefined) store.dispatch({ type: "Key", key })
  })
  usePaste((text) => store.dispatch({ type: "Key", key: { name: "text", text, pasted: true } }))
  try {
    if (look.plain) {
      return h(
        Box,
        { flexDirection: "column" },
        plain(state, size).map((line, index) => h(Text, { key: index }, line === "" ? " " : line))
      )
    }
    const { cursor, lines } = screen(state, size)
    setCursorPosition(state.restart === "asked" ? undefined : cursor)
    const styles = look.color ? colored : uncolored
    return h(
      Box,
      { flexDirection: "column" },
      lines.map((line, index) => draw(line, styles, index))
    )
  } catch (error) {
    fail(error)
    return null
  }
}
