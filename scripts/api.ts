/** The index of all exports in docs/api.md, from their docstrings. `npm run api` writes it, and draws the pages. */
import * as fs from "node:fs"
import * as path from "node:path"
import { type Docstring, type Module, modulesOf, packages, sourcesIn } from "./docstrings.ts"

const head = `# The API

Every export by its first sentence; the sources are behind the modules' names, and in the docstring there stands the rest:
when to use it, details, units, errors, and an example, which the tests compile and run. \`npm run api\` draws pages of all
that, with the types and a search, at \`docs/api/index.html\` (with [TypeDoc](https://typedoc.org)). A module is imported by its
name: \`import { Fence } from "@holdfast/lock/Fence"\`. This page is written by \`node scripts/api.ts\`.
`

/** The first paragraph on one line, up to the end of its first sentence. */
const sentenceOf = (docstring: Docstring | undefined): string => {
  const line = (docstring?.text ?? "").split("\n\n")[0]!.replaceAll("\n", " ").replaceAll("|", "\\|")
  return /^.*?\.(?= [A-Z`]|$)/.exec(line)?.[0] ?? line
}

const sectionOf = ({ docstring, exports, file, name }: Module): string => {
  const rows = exports
    .filter((one) => !/^@internal$/m.test(one.docstring?.text ?? ""))
    // a schema and its type are one thing
    .filter((one, index, all) => all.findIndex((other) => other.name === one.name) === index)
    .map((one) => `| \`${one.name}\` | ${sentenceOf(one.docstring)} |`)
  return [
    `### [${name}](../${file})`,
    sentenceOf(docstring),
    ["| export | what it is |", "| --- | --- |", ...rows].join("\n")
  ].join("\n\n")
}

export const indexOf = (modules: ReadonlyArray<Module>): string => {
  const sections = packages.flatMap((name) => [
    `## ${name}`,
    ...modules.filter((module) => module.name.startsWith(`@holdfast/${name}/`)).map(sectionOf)
  ])
  return `${[head.trim(), ...sections].join("\n\n")}\n`
}

if (process.argv[1] === import.meta.filename) {
  const root = path.join(import.meta.dirname, "..")
  fs.writeFileSync(path.join(root, "docs/api.md"), indexOf(modulesOf(sourcesIn(root))))
}
