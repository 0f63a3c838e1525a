/** What docs/bundling.md says, command by command: compiled, bundled, one executable. */
import * as fs from "node:fs"
import * as path from "node:path"
import { commandsIn, modulesIn, sectionOf, settingsIn } from "../markdown.ts"
import { shell } from "./run.ts"

const root = path.join(import.meta.dirname, "../..")
const text = fs.readFileSync(path.join(root, "docs/bundling.md"), "utf8")

/** The README's files as they stand there, and the command line that the guide shows. */
export const writeSources = (folder: string): void => {
  const shown = modulesIn(fs.readFileSync(path.join(root, "README.md"), "utf8"))
  const commandLine = modulesIn(text).filter(({ name }) => name === "cli.ts")
  fs.mkdirSync(path.join(folder, "src"), { recursive: true })
  for (const { name, text } of [...commandLine, ...shown]) fs.writeFileSync(path.join(folder, "src", name), text)
}

/** Writes what a section shows, runs its commands but the last, and answers that: it is how the program is started. */
export const follow = async (
  heading: string,
  { folder, runtime }: { readonly folder: string; readonly runtime?: string | undefined }
): Promise<ReadonlyArray<string>> => {
  const section = sectionOf(text, heading)
  for (const { name, text } of settingsIn(section)) fs.writeFileSync(path.join(folder, name), text)
  const lines = commandsIn(section)
  for (const line of lines.slice(0, -1)) await shell(line, { cwd: folder, runtime })
  return lines.at(-1)!.split(" ")
}

/** A folder with the same packages and sources, in which the program is one executable. */
export const oneExecutable = (folder: string, project: string): void => {
  writeSources(folder)
  for (const { name, text: shown } of modulesIn(sectionOf(text, "One executable"))) {
    fs.writeFileSync(path.join(folder, "src", name), shown)
  }
  fs.copyFileSync(path.join(project, "package.json"), path.join(folder, "package.json"))
  fs.symlinkSync(path.join(project, "node_modules"), path.join(folder, "node_modules"))
}
