import type { Hit } from "./api.ts"
import { within } from "./paths.ts"
import { relative } from "node:path"

const bold = "\u001b[1;31m"
const plain = "\u001b[0m"

/** `file:line: text`, the file as seen from `cwd` when it lies in it; with colour the matches stand out. */
export const print = (hit: Hit, options: { readonly cwd: string; readonly color: boolean }): string => {
  const file = within(options.cwd, hit.file) ? relative(options.cwd, hit.file) : hit.file
  return `${file}:${hit.line}: ${options.color ? highlight(hit) : hit.text}`
}

const highlight = ({ matches, text }: Hit): string => {
  let shown = ""
  let at = 0
  for (const { end, start } of matches) {
    shown += text.slice(at, start) + bold + text.slice(start, end) + plain
    at = end
  }
  return shown + text.slice(at)
}

/** Where files are seen from; the root where the current directory is gone. */
export const workingDirectory = (): string => {
  try {
    return process.cwd()
  } catch {
    return "/"
  }
}
