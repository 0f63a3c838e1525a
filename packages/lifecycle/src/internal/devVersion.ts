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

/**
 * `devVersion(version, import.meta.url)`: the version of a program that is run from its checkout. Every edit makes it
 * another one, so that the next launch replaces the service and runs what was edited.
 *
 * **When to use** As the `version` of a spec, in the module that the daemon and its clients share.
 *
 * **Details** In a checkout: `1.0.0+dev.20261130T190053123Z`, a valid build of semver, by the newest change of a source
 * file or the `package.json` of the package that the module is in; tests, dot files and what is built are no sources. It
 * is the same in every process while nothing is edited. Installed below `node_modules`, in a directory of built files,
 * in a compiled program, or outside of any repository the version stays as it is. Never throws.
 *
 * **Example**
 *
 * ```ts
 * import { define, devVersion } from "@holdfast/lifecycle/ServiceSpec"
 *
 * export const hello = define({
 *   app: "hello",
 *   version: devVersion("1.0.0", import.meta.url),
 *   entry: new URL("./daemon.ts", import.meta.url)
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
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

/**
 * Whether the package of a spec's entry was edited since its `devVersion` was computed: what this program would start is
 * not what it is itself.
 *
 * **Details** `false` for a version that is not one of a checkout, and for an entry that is a command.
 *
 * **Example**
 *
 * ```ts
 * import { isOutdated, type ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
 *
 * export const warn = (spec: ServiceSpec): void => {
 *   if (isOutdated(spec)) console.warn("This program was edited since it started.")
 * }
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isOutdated = ({ entry, version }: Pick<ServiceSpec, "entry" | "version">): boolean => {
  const base = /^(.+)[+.]dev\.\d+T\d+Z$/.exec(version)?.[1]
  return base !== undefined && entry instanceof URL && devVersion(base, entry.href) !== version
}
