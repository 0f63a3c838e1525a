/** What the documents hold for a machine: commands, TypeScript and links. */
import * as fs from "node:fs"
import * as path from "node:path"

/** The documents, from the top of the repository. */
export const documentsIn = (root: string): ReadonlyArray<string> => [
  "README.md",
  "CONTRIBUTING.md",
  ...fs
    .readdirSync(path.join(root, "docs"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`)
]

export interface Block {
  /** The line of its first line, counted from 1. */
  readonly line: number
  /** What stands behind the language. */
  readonly title: string
  readonly text: string
}

/** The fenced blocks of one language. */
export const blocksOf = (text: string, language: string): ReadonlyArray<Block> =>
  [...text.matchAll(/^```(\w+)(?: +(.+))?\n([^]*?)^```$/gm)]
    .filter(([, named]) => named === language)
    .map(({ 0: whole, 2: title, 3: body, index }) => ({
      line: text.slice(0, index + whole.indexOf("\n") + 1).split("\n").length,
      title: title ?? "",
      text: body!
    }))

/** One command a line; what follows `  #` is for the reader. */
export const commandsOf = (text: string): ReadonlyArray<string> =>
  blocksOf(text, "sh")
    .flatMap((block) => block.text.split("\n"))
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "")

/**
 * The TypeScript of a document as files: a comment `// name.ts` begins one, and the rest of a block without one is a
 * file by itself. Every line keeps its number, so that an error names the line of the document.
 */
export const typescriptOf = (text: string): ReadonlyMap<string, string> => {
  const files = new Map<string, string>()
  for (const { line, text: block } of blocksOf(text, "ts")) {
    let name = `line-${line}.ts`
    block.split("\n").forEach((code, index) => {
      name = /^\/\/ (\S+\.ts)$/.exec(code)?.[1] ?? name
      const before = files.get(name) ?? ""
      const missing = line + index - 1 - (before.match(/\n/g)?.length ?? 0)
      files.set(name, `${before}${"\n".repeat(Math.max(missing, 0))}${code}\n`)
    })
  }
  return files
}

/** The files that TypeScript blocks name, as they would be written to disk: without the comment that names them. */
export const modulesOf = (text: string): ReadonlyMap<string, string> =>
  new Map(
    [...typescriptOf(text)].map(([name, file]) => [
      name,
      `${file
        .trim()
        .replace(/^\/\/ \S+\.ts\n/, "")
        .trim()}\n`
    ])
  )

/** The files of the JSON blocks that have a name behind the language, since JSON has no comments. */
export const settingsOf = (text: string): ReadonlyMap<string, string> =>
  new Map(blocksOf(text, "json").flatMap((block) => (block.title === "" ? [] : [[block.title, block.text]])))

/** What stands under a heading of the second level. */
export const sectionOf = (text: string, heading: string): string => {
  const [, section] = text.split(`\n## ${heading}\n`)
  if (section === undefined) throw new Error(`there is no section "${heading}"`)
  return section.split(/^## /m)[0]!
}

/** Where the links of a document lead that lead into this repository: the file, and the heading where one is named. */
export const linksOf = (text: string): ReadonlyArray<{ readonly file: string; readonly heading: string }> =>
  [...text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)]
    .map(([, link, source]) => link ?? source!)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [file = "", heading = ""] = link.split("#")
      return { file, heading }
    })

/** The names by which links find the headings of a document. */
export const headingsOf = (text: string): ReadonlyArray<string> =>
  [...text.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-")
  )
