/** What docs/bundling.md says, command by command: compiled, bundled, one executable. */
import * as fs from "node:fs"
import * as path from "node:path"
import { commandsOf, modulesOf, sectionOf, settingsOf } from "../documents.ts"
import { shell } from "./run.ts"

const root = path.join(import.meta.dirname, "../..")
const text = fs.readFileSync(path.join(root, "docs/bundling.md"), "utf8")

/** The README's files as they stand there. */
export const writeSources = (folder: string): void => {
  const shown = modulesOf(fs.readFileSync(path.join(root, "README.md"), "utf8"))
  fs.mkdirSync(path.join(folder, "src"), { recursive: true })
  for (const [name, code] of shown) fs.writeFileSync(path.join(folder, "src", name), code)
}

/** Writes what a section shows, runs its commands but the last, and answers that: it is how the program is started. */
export const follow = async (
  heading: string,
  { folder, runtime }: { readonly folder: string; readonly runtime?: string | undefined }
): Promise<ReadonlyArray<string>> => {
  const section = sectionOf(text, heading)
  for (const [name, json] of settingsOf(section)) fs.writeFileSync(path.join(folder, name), json)
  const lines = commandsOf(section)
  for (const line of lines.slice(0, -1)) await shell(line, { cwd: folder, runtime })
  return lines.at(-1)!.split(" ")
}

/** A folder with the same packages and sources, in which the program is one executable. */
export const oneExecutable = (folder: string, project: string): void => {
  writeSources(folder)
  for (const [name, code] of modulesOf(sectionOf(text, "One executable"))) {
    fs.writeFileSync(path.join(folder, "src", name), code)
  }
  fs.copyFileSync(path.join(project, "package.json"), path.join(folder, "package.json"))
  fs.symlinkSync(path.join(project, "node_modules"), path.join(folder, "node_modules"))
}
