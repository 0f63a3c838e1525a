/** The screen for whoever hears it, or whose terminal draws nothing: plain lines, the most wanted first. */
import { activity, count, fileName, instead, keys, placeName, question } from "./shown.ts"
import { chosen, type State } from "./State.ts"
import { statusOf } from "./status.ts"
import { found as foundIn } from "./spans.ts"
import { cutEnd, cutMiddle, printable, widthOf } from "./text.ts"
import type { Size } from "./view.ts"

export const plain = (state: State, { columns, rows }: Size): ReadonlyArray<string> => {
  const { action, text, version } = statusOf(state)
  const versioned = text.includes(`v${version}`) ? text : `${text} Version ${version}.`
  const status = action === undefined ? versioned : `${versioned} ${action}`
  const scope = state.hereOnly ? `Search only in ${placeName(state.directory)}` : "Search everywhere"
  const roots = state.roots.map(
    (root) => `Directory ${cutMiddle(placeName(root.path), columns - 20)}: ${activity(root, () => "")}`
  )
  const asked = keys(state).map(([key, does]) => `${key === "↑↓" ? "Up and Down" : key} ${does}`)
  const around = [
    `${scope}: ${printable(state.query)}`,
    ...roots.slice(0, 3),
    state.restart === "asked" ? question : `Status: ${status}`,
    `Keys: ${asked.join(", ")}.`
  ]
  const [top, ...bottom] = around as [string, ...Array<string>]
  // long lines are wrapped; what remains is for the results, under their number, and what is around the chosen one
  const taken = around.reduce((sum, line) => sum + Math.max(Math.ceil(widthOf(line) / columns), 1), 0)
  const place = Math.max(rows - taken - 6, 1)
  const middle = [...results(state, columns, place), ...preview(state)].map((line) => cutEnd(line, columns))
  return [top, ...middle, ...bottom]
}

const results = (state: State, columns: number, rows: number): ReadonlyArray<string> => {
  if (state.hits.length === 0) return [instead(state)].filter((line) => line !== "")
  const first = Math.max(0, Math.min(state.selected - Math.floor(rows / 2), state.hits.length - rows))
  const lines = state.hits.slice(first, first + rows).map((hit, index) => {
    const number = first + index
    const mark = number === state.selected ? "Chosen: " : ""
    const before = `${mark}${fileName(hit.file, state.directory)} line ${hit.line}: `
    const text = foundIn(hit, Math.max(columns - widthOf(before), 20)).map((span) => span.text)
    return before + text.join("")
  })
  const found = count(state)
  return found === "" ? lines : [`Found ${found}.`, ...lines]
}

const preview = (state: State): ReadonlyArray<string> => {
  const { preview } = state
  if (preview === undefined || chosen(state) === undefined) return []
  const at = preview.line - preview.from
  const first = Math.max(at - 1, 0)
  return [
    "Around it:",
    ...preview.lines.slice(first, at + 2).map((text, index) => `${preview.from + first + index} ${printable(text)}`)
  ]
}
