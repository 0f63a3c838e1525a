/** What documents show: their commands, and their files. */

export interface ShownFile {
  readonly name: string
  readonly text: string
}

interface Block {
  /** What stands behind the language. */
  readonly title: string
  readonly text: string
}

const blocks = (markdown: string, language: string): ReadonlyArray<Block> =>
  [...markdown.matchAll(new RegExp(`^\`\`\`${language}(?: +(.+))?\n([^]*?)^\`\`\`$`, "gm"))].map(([, title, text]) => ({
    title: title ?? "",
    text: text!
  }))

/** Files in the TypeScript blocks: each begins with a comment that names it, and is shown without that. */
export const modulesIn = (markdown: string): ReadonlyArray<ShownFile> =>
  blocks(markdown, "ts").flatMap(({ text }) =>
    text
      .split(/^\/\/ (?=\S+\.ts$)/m)
      .filter((part) => part.trim() !== "")
      .map((part) => ({
        name: part.slice(0, part.indexOf("\n")),
        text: `${part.slice(part.indexOf("\n") + 1).trim()}\n`
      }))
  )

/** Files in the JSON blocks, which are named behind the language, since JSON has no comments. */
export const settingsIn = (markdown: string): ReadonlyArray<ShownFile> =>
  blocks(markdown, "json").map(({ text, title }) => ({ name: title, text }))

/** Lines of the shell blocks, without their comments. */
export const commandsIn = (markdown: string): ReadonlyArray<string> =>
  blocks(markdown, "sh").flatMap(({ text }) =>
    text
      .split("\n")
      .map((line) => line.replace(/\s+#.*$/, "").trim())
      .filter((line) => line !== "")
  )

/** What stands under a heading of the second level. */
export const sectionOf = (markdown: string, heading: string): string => {
  const [, section] = markdown.split(`\n## ${heading}\n`)
  if (section === undefined) throw new Error(`there is no section "${heading}"`)
  return section.split(/^## /m)[0]!
}
