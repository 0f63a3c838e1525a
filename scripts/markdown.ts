/** What documents show: their commands, and their files. */

export interface ShownFile {
  readonly name: string
  readonly text: string
}

const blocks = (markdown: string, language: string): ReadonlyArray<string> =>
  [...markdown.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "gm"))].map(([, block]) => block!)

/** Files in the blocks of a language: each begins with a comment that names it, and is shown without that. */
export const filesOf = (markdown: string, language: "ts" | "json"): ReadonlyArray<ShownFile> =>
  blocks(markdown, language).flatMap((block) =>
    block
      .split(/^\/\/ (?=\S+\.\w+$)/m)
      .filter((part) => part.trim() !== "")
      .map((part) => ({
        name: part.slice(0, part.indexOf("\n")),
        text: `${part.slice(part.indexOf("\n") + 1).trim()}\n`
      }))
  )

/** Lines of the shell blocks, without their comments. */
export const commandsOf = (markdown: string): ReadonlyArray<string> =>
  blocks(markdown, "sh").flatMap((block) =>
    block
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
