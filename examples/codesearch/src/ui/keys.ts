/** What a key of the terminal means. */
import type { Key as Pressed } from "ink"
import type { Key } from "./State.ts"

export const keyOf = (input: string, key: Partial<Pressed>): Key | undefined => {
  if (key.ctrl) {
    if (input === "c" || input === "d") return { name: "quit" }
    if (input === "w") return { name: "word" }
    if (input === "u") return { name: "line" }
    if (input === "p") return { name: "up" }
    return input === "n" ? { name: "down" } : undefined
  }
  if (key.escape) return { name: "escape" }
  if (key.return) return { name: "enter" }
  if (key.tab) return { name: "tab" }
  if (key.upArrow) return { name: "up" }
  if (key.downArrow) return { name: "down" }
  if (key.pageUp) return { name: "pageUp" }
  if (key.pageDown) return { name: "pageDown" }
  // many terminals send for Backspace what is Delete elsewhere
  if (key.backspace || key.delete) return { name: "backspace" }
  return key.meta || input === "" ? undefined : { name: "text", text: input }
}
