/** Pieces of HTML: whatever comes from a story is text, never markup. */
import { printable } from "./happenings.ts"

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

export const escape = (text: string): string =>
  printable(text).replaceAll(/[&<>"']/g, (character) => entities[character]!)

/** Where a moment stands between two others, as a CSS percentage. */
export const place = (at: number, from: number, to: number): string =>
  `${Number((((at - from) / (to - from)) * 100).toFixed(3))}%`

/** The hint of a bar or mark opens towards the middle of the page. */
export const side = (at: number, from: number, to: number): "l" | "m" | "r" => {
  const where = (at - from) / (to - from)
  return where < 0.34 ? "l" : where > 0.66 ? "r" : "m"
}

/** Something with a hint: shown under the pointer and with the keyboard's focus, read out as its label. */
export const hinted = (options: {
  readonly className: string
  readonly style: string
  readonly side: string
  readonly hint: string
  readonly inner?: string
}): string => {
  const { className, hint, inner = "", side, style } = options
  return `<div class="${className} h ${side}" style="${style}" tabindex="0" role="img" aria-label="${escape(hint)}">${inner}<div class="tip" aria-hidden="true">${escape(hint)}</div></div>`
}
