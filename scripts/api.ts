/** The list of all modules in docs/api.md, from their docstrings. `npm run api` writes it, and draws the pages. */
import * as fs from "node:fs"
import * as path from "node:path"
import { type Docstring, type Module, modulesOf, packages, sourcesIn } from "./docstrings.ts"

const head = `# The API, by module

What each export promises, its errors, units and an example stand in its docstring. \`npm run api\` draws pages of them all,
with their types, links and a search, at \`docs/api/index.html\` (with [TypeDoc](https://typedoc.org)); it also writes this
list. A module is imported by its name: \`import { Fence } from "@holdfast/lock/Fence"\`. The examples are compiled and run
by the tests.
`

const summaryOf = (docstring: Docstring | undefined): string =>
  (docstring?.text ?? "").split("\n\n")[0]!.replaceAll("\n", " ").replaceAll("|", "\\|")

const rowOf = ({ docstring, exports, file, name }: Module): string => {
  const names = exports.filter((one) => !/^@internal$/m.test(one.docstring?.text ?? "")).map((one) => `\`${one.name}\``)
  return `| [\`${name}\`](../${file}) | ${summaryOf(docstring)} | ${[...new Set(names)].join(", ")} |`
}

export const overview = (modules: ReadonlyArray<Module>): string => {
  const tables = packages.map((name) => {
    const rows = modules.filter((module) => module.name.startsWith(`@holdfast/${name}/`)).map(rowOf)
    return [`## ${name}`, "", "| module | what it is | exports |", "| --- | --- | --- |", ...rows].join("\n")
  })
  return `${[head.trim(), ...tables].join("\n\n")}\n`
}

if (process.argv[1] === import.meta.filename) {
  const root = path.join(import.meta.dirname, "..")
  fs.writeFileSync(path.join(root, "docs/api.md"), overview(modulesOf(sourcesIn(root))))
}
