#!/usr/bin/env node
/**
 * `npm create holdfast my-service`: the template, in a folder of that name. It asks nothing, installs nothing, and writes
 * only into a folder that it made or found empty.
 */
import * as fs from "node:fs"
import * as path from "node:path"

/** As in sysexits(3), and in the services themselves. */
const usage = 64
const cannotCreate = 73

const refuse = (code, sentence) => {
  process.stderr.write(`${sentence}\n`)
  process.exit(code)
}

const given = process.argv.slice(2)
if (given.length !== 1 || given[0].startsWith("-")) {
  const asked = given.length === 1 && (given[0] === "--help" || given[0] === "-h")
  refuse(asked ? 0 : usage, "Use: npm create holdfast <folder>")
}

const folder = path.resolve(given[0])
const name = path.basename(folder)
// what the library takes for the name of an application, and what every registry takes for that of a package
if (!/^[a-z0-9][a-z0-9-]{0,31}$/.test(name)) {
  refuse(
    usage,
    `${JSON.stringify(name)} is no name for a service. Use 1 to 32 of: a-z, 0-9 and -, not starting with -.`
  )
}

const { version } = JSON.parse(fs.readFileSync(new URL("./package.json", import.meta.url), "utf8"))
const template = path.join(import.meta.dirname, "template")
// npm packs no file of the name .gitignore
const named = (file) => (file === "gitignore" ? ".gitignore" : file)

try {
  const found = fs.statSync(folder, { throwIfNoEntry: false })
  if (found?.isDirectory() === false) refuse(cannotCreate, `${folder} is there, and is no folder. Use another name.`)
  if (found !== undefined && fs.readdirSync(folder).length > 0) {
    refuse(cannotCreate, `${folder} is not empty. Use another name, or empty it first.`)
  }
  for (const entry of fs.readdirSync(template, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const from = path.join(entry.parentPath, entry.name)
    const to = path.join(folder, path.relative(template, entry.parentPath), named(entry.name))
    const text = fs.readFileSync(from, "utf8").replaceAll("my-service", name).replaceAll("0.0.0-holdfast", version)
    fs.mkdirSync(path.dirname(to), { recursive: true })
    fs.writeFileSync(to, text)
  }
} catch (error) {
  refuse(cannotCreate, `${folder} could not be written (${error.code}). Use a folder of your own.`)
}

const way = path.relative(process.cwd(), folder)
process.stdout.write(
  `${name} is in ${folder}. Next:\n\n${way === "" ? "" : `  cd ${way}\n`}  npm install\n  npm test\n  npm start\n`
)
