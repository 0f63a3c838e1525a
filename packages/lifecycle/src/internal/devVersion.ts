/** The version of a program that is run from where it is edited. */
import type { ServiceSpec } from "../ServiceSpec.ts"

const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")
const url = process.getBuiltinModule("node:url")

const repositories = [".git", ".hg", ".jj", ".sl", ".svn"]
/** What is made from the sources, or is no part of what runs. */
const skipped = new Set(["node_modules", "dist", "build", "out", "coverage", "target", "test", "tests", "__tests__"])
const isSource = (name: string): boolean => /\.[cm]?[jt]sx?$/.test(name) && !/\.(test|spec)\.[^.]+$/.test(name)

/** So that a start stays quick in whatever directory a package is. */
const entriesLimit = 10_000

const ancestors = (directory: string): ReadonlyArray<string> => {
  const above = path.dirname(directory)
  return above === directory ? [directory] : [directory, ...ancestors(above)]
}

/** The directory of the package, when its sources are run as they are checked out. */
const checkoutOf = (file: string): string | undefined => {
  const all = ancestors(path.dirname(file))
  const root = all.find((directory) => fs.existsSync(path.join(directory, "package.json")))
  if (root === undefined || root.split(path.sep).includes("node_modules")) return undefined
  if (
    path
      .relative(root, file)
      .split(path.sep)
      .some((name) => skipped.has(name))
  )
    return undefined
  const isCheckedOut = all.some((directory) => repositories.some((name) => fs.existsSync(path.join(directory, name))))
  return isCheckedOut ? root : undefined
}

/** Milliseconds since the epoch; in an order that is the same for everybody, since there is a limit. */
const newestIn = (root: string): number => {
  const directories = [root]
  let newest = fs.statSync(path.join(root, "package.json")).mtimeMs
  let entries = 0
  for (const directory of directories) {
    const found = fs.readdirSync(directory, { withFileTypes: true })
    for (const entry of found.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      if (++entries > entriesLimit) return newest
      const at = path.join(directory, entry.name)
      if (entry.isDirectory() && !skipped.has(entry.name) && !entry.name.startsWith(".")) directories.push(at)
      if (entry.isFile() && isSource(entry.name)) newest = Math.max(newest, fs.statSync(at).mtimeMs)
    }
  }
  return newest
}

export const devVersion = (version: string, sourceUrl: string): string => {
  try {
    const root = checkoutOf(fs.realpathSync(url.fileURLToPath(sourceUrl)))
    if (root === undefined) return version
    const stamp = new Date(newestIn(root)).toISOString().replaceAll(/[^0-9TZ]/g, "")
    return `${version}${version.includes("+") ? "." : "+"}dev.${stamp}`
  } catch {
    return version // no file, or one that goes in this moment: nothing to look at
  }
}

/** The checkout was edited since this program computed its version: what it starts is not what it is. */
export const isOutdated = ({ entry, version }: Pick<ServiceSpec, "entry" | "version">): boolean => {
  const base = /^(.+)[+.]dev\.\d+T\d+Z$/.exec(version)?.[1]
  return base !== undefined && entry instanceof URL && devVersion(base, entry.href) !== version
}
