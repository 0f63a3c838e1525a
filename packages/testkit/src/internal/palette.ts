/**
 * The colours of a timeline. Those of the bars differ for people who do not tell red from green, or blue from yellow, and
 * each text on them has a contrast of 4.5 or more; the tests measure both.
 */

/** A bar: its colour, the colour of its stripes, and that of the text on it. */
export interface Tone {
  readonly bar: string
  readonly stripe: string
  readonly text: string
}

export interface Palette {
  readonly page: string
  readonly panel: string
  readonly line: string
  readonly text: string
  readonly quiet: string
  readonly accent: string
  readonly signal: string
  readonly fault: string
  readonly good: string
  readonly bad: string
  readonly tones: Readonly<Record<ToneName, Tone>>
}

export const toneNames = [
  "starting",
  "ready",
  "stopping",
  "failed",
  "unresponsive",
  "unreachable",
  "missing",
  "other",
  "lock",
  "epoch",
  "fence"
] as const

export type ToneName = (typeof toneNames)[number]

const tone = (bar: string, stripe: string, text: string): Tone => ({ bar, stripe, text })

export const light: Palette = {
  page: "#f6f7f9",
  panel: "#ffffff",
  line: "#e3e6eb",
  text: "#171b22",
  quiet: "#596272",
  accent: "#0b5cad",
  signal: "#a3195b",
  fault: "#b3401a",
  good: "#0b6b4b",
  bad: "#a81f1f",
  tones: {
    starting: tone("#b3dafb", "#96cbf6", "#062c4d"),
    ready: tone("#1667b8", "#1667b8", "#ffffff"),
    stopping: tone("#f7cf5c", "#efbd35", "#3b2b00"),
    failed: tone("#a8231c", "#8f1a14", "#ffffff"),
    unresponsive: tone("#d58fc1", "#dfa3cf", "#3b0a29"),
    unreachable: tone("#eceef2", "#d6dae1", "#3c4450"),
    missing: tone("#ffffff", "#ffffff", "#596272"),
    other: tone("#cdbfa6", "#cdbfa6", "#2e2512"),
    lock: tone("#2b313b", "#2b313b", "#ffffff"),
    epoch: tone("#ffffff", "#ffffff", "#2b313b"),
    fence: tone("#e4ddf7", "#e4ddf7", "#3d2a75")
  }
}

export const dark: Palette = {
  page: "#0e1217",
  panel: "#151a21",
  line: "#262d37",
  text: "#e7ebf1",
  quiet: "#9aa5b4",
  accent: "#6cb6ff",
  signal: "#ff7db4",
  fault: "#ff9a6b",
  good: "#5fd0a3",
  bad: "#ff8f86",
  tones: {
    starting: tone("#164668", "#1f577f", "#d8edff"),
    ready: tone("#5aa9f0", "#5aa9f0", "#06182a"),
    stopping: tone("#e6b632", "#d3a31f", "#231a00"),
    failed: tone("#b8301f", "#a02515", "#ffffff"),
    unresponsive: tone("#cf93bc", "#c183ad", "#2b0a1e"),
    unreachable: tone("#2b323c", "#3a4350", "#d5dbe4"),
    missing: tone("#151a21", "#151a21", "#9aa5b4"),
    other: tone("#6b5f47", "#6b5f47", "#ffffff"),
    lock: tone("#b9c2cf", "#b9c2cf", "#12161c"),
    epoch: tone("#151a21", "#151a21", "#d3d9e2"),
    fence: tone("#362b5c", "#362b5c", "#e0d8ff")
  }
}
