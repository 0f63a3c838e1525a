/**
 * `npm run architecture`: writes the map of modules in docs/architecture.md, from the first sentence of each module. The
 * test beside this script fails when the map is not what the sources say, or when an arrow points the other way.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { order, sourcesOf, target } from "./lint-house.ts"
import { readModule } from "./read-module.ts"

export const mapFile = "docs/architecture.md"

const begin = "<!-- written by `npm run architecture` -->"
const end = "<!-- end -->"

/** What a module says of itself first, on one line. */
const sentenceOf = (text: string): string => {
  const [, body = ""] = /^\/\*\*\s*([^]*?)\*\//.exec(text) ?? []
  const [paragraph = ""] = body.replaceAll(/^[ \t]*\* ?/gm, "").split(/\n\s*\n/)
  const line = paragraph.replaceAll(/\s+/g, " ").trim()
  return (/^.*?\.(?=\s+[A-Z]|$)/.exec(line)?.[0] ?? line).replaceAll("|", "\\|")
}

const modulesOf = (sources: ReadonlyMap<string, string>, folder: string) =>
  [...sources]
    .filter(([file]) => path.posix.dirname(file) === folder)
    .map(([file, text]) => ({ file, name: path.posix.basename(file, ".ts"), sentence: sentenceOf(text) }))
    .sort((a, b) => a.name.localeCompare(b.name, "en", { sensitivity: "base" }))

/** The other packages that the sources of `name` import. */
export const importsOf = (sources: ReadonlyMap<string, string>, name: string): ReadonlyArray<string> => {
  const found = new Set(
    [...sources]
      .filter(([file]) => file.startsWith(`packages/${name}/src/`))
      .flatMap(([file, text]) => readModule(file, text).imports.map(({ specifier }) => target(file, specifier)))
      .map((file) => file.split("/")[1])
  )
  return order.filter((other) => other !== name && found.has(other))
}

const sectionOf = (sources: ReadonlyMap<string, string>, name: string): string => {
  const folder = `packages/${name}/src`
  const arrows = importsOf(sources, name)
  const rows = modulesOf(sources, folder).map(
    ({ file, name, sentence }) => `| [\`${name}\`](../${file}) | ${sentence} |`
  )
  const internal = modulesOf(sources, `${folder}/internal`).map(({ name }) => `\`${name}\``)
  return [
    `## ${name}`,
    `Imports ${arrows.length === 0 ? "no other package" : arrows.map((other) => `\`${other}\``).join(", ")}.`,
    ["| module | what it is |", "| --- | --- |", ...rows].join("\n"),
    `In \`internal/\`: ${internal.join(", ")}.`
  ].join("\n\n")
}

/** The part of the map that is written from the sources. */
export const mapOf = (sources: ReadonlyMap<string, string>): string =>
  [begin, ...order.map((name) => sectionOf(sources, name)), end].join("\n\n")

/** The part of `text` that is written from the sources. */
export const written = (text: string): string =>
  text.includes(begin) ? text.slice(text.indexOf(begin), text.indexOf(end) + end.length) : ""

if (process.argv[1] === import.meta.filename) {
  const root = path.join(import.meta.dirname, "..")
  const file = path.join(root, mapFile)
  const text = fs.readFileSync(file, "utf8")
  fs.writeFileSync(
    file,
    text.replace(written(text), () => mapOf(sourcesOf(root)))
  )
}
