/** How things are named on the screen: files, counts, roots. Without colours or boxes, so every way to draw shares it. */
import { homedir } from "node:os"
import { relative } from "node:path"
import type { Root } from "../api.ts"
import { below, within } from "../paths.ts"
import { isRestartable } from "./status.ts"
import { isAnswered, type State } from "./State.ts"
import { counted, number, printable } from "./text.ts"

/** How many lines are asked for. */
export const limit = 200

export const quitting = "quit (the service stays)"

/** As seen from the terminal's directory, or from home. */
export const fileName = (file: string, directory: string): string =>
  printable(within(directory, file) ? relative(directory, file) || "." : placeName(file))

/** With `~` for the home directory. */
export const placeName = (path: string, home = homedir()): string =>
  printable(home !== "/" && within(home, path) ? `~${path === home ? "" : `/${path.slice(below(home).length)}`}` : path)

/** How many lines were found, or what is done about it. */
export const count = (state: State): string => {
  if (state.query === "") return ""
  if (!isAnswered(state)) return state.slow ? "searching…" : state.answered === undefined ? "" : countOf(state)
  return countOf(state)
}

const countOf = ({ hits }: State): string =>
  hits.length === 0
    ? "no lines"
    : hits.length >= limit
      ? `${number(limit)} lines and more`
      : counted(hits.length, "line")

/** What stands where results would. */
export const instead = (state: State): string => {
  if (state.query === "") return "Type to search."
  if (!isAnswered(state)) return ""
  const where = state.hereOnly ? `in ${placeName(state.directory)}` : "in any indexed directory"
  return state.roots.length === 0 && !state.hereOnly ? "Nothing is indexed yet." : `No line ${where} contains this.`
}

/** What a root is doing; `bar` says how far it is, for whom a picture helps. */
export const activity = ({ indexed, message, state, total }: Root, bar: (part: number) => string): string => {
  switch (state) {
    case "scanning":
      return "listing files…"
    case "indexing":
      return `indexing ${bar(total === 0 ? 0 : indexed / total)}${number(indexed)} of ${counted(total, "file")}`
    case "watching":
      return `${counted(total, "file")}${message === undefined ? "" : `. ${printable(message)}`}`
    case "failed":
      return printable(message ?? "It cannot be read.")
  }
}

/** The keys that do something now, the most wanted first. */
export const keys = (state: State): ReadonlyArray<readonly [key: string, does: string]> => {
  const quit = ["Ctrl-C", quitting] as const
  if (state.restart === "asked") return [["y", "restart"], ["n", "leave it"], quit]
  const scope = ["Tab", state.hereOnly ? "search everywhere" : "search only here"] as const
  const restart = isRestartable(state) ? [[state.typing ? "Esc r" : "r", "restart"] as const] : []
  if (state.query === "" && !state.typing) return [...restart, ["↑↓", "choose"], scope, ["Esc", quitting]]
  const clear = state.typing ? [] : [["Esc", "clear"] as const]
  return [...restart, ["↑↓", "choose"], scope, ...clear, quit]
}

export const question = "Restart the background service? What it is doing now is lost."
