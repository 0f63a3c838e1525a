import * as Effect from "effect/Effect"
import ignore, { type Ignore } from "ignore"
import { readFile, stat } from "node:fs/promises"
import { dirname, join, sep } from "node:path"
import { below } from "./paths.ts"

/**
 * What git would ignore inside one directory: the rules of all directories from `base` (the top of the
 * repository, or the root) down to it. The last rule that matches decides, so deeper files win, as in git.
 */
export interface Rules {
  readonly base: string
  readonly matcher: Ignore
}

/**
 * Whether the rules exclude a path below `base`. A path whose parent directory is excluded is excluded too.
 * Version control's own directories always are.
 */
export const excludes = (rules: Rules, path: string, kind: "file" | "directory"): boolean => {
  const relative = relativeTo(rules.base, path)
  return (
    own.has(relative.slice(relative.lastIndexOf("/") + 1)) ||
    rules.matcher.ignores(kind === "directory" ? `${relative}/` : relative)
  )
}

const own: ReadonlySet<string> = new Set([".git", ".hg", ".svn", ".jj"])

/**
 * The rules that apply to a root before its own files are read: those of the repository it lies in, if any
 * (`.git/info/exclude`, then the `.gitignore` of each directory above the root). When they exclude the root itself,
 * naming it wins and none of them apply. The user's global excludes file is not read. Never fails: what cannot be
 * read excludes nothing.
 */
export const outer = Effect.fnUntraced(function* (root: string): Effect.fn.Return<Rules> {
  const top = yield* repositoryOf(root)
  if (top === undefined || top === root) return yield* repository(root)
  let rules = yield* repository(top)
  for (const directory of between(top, root)) rules = yield* ownRules(rules, directory)
  return excludes(rules, root, "directory") ? { base: root, matcher: empty() } : rules
})

/**
 * The rules inside a directory: those of its parent and its own `.gitignore`. A repository inside another begins
 * anew. `names` are the directory's entries.
 */
export const enter = Effect.fnUntraced(function* (
  rules: Rules,
  directory: string,
  names: ReadonlySet<string>
): Effect.fn.Return<Rules> {
  const current = names.has(".git") && directory !== rules.base ? yield* repository(directory) : rules
  return names.has(".gitignore") ? yield* ownRules(current, directory) : current
})

/**
 * The lines of a `.gitignore`, rewritten as rules of the repository's top: `directory` is where the file lies, with
 * "/" between its parts, "" for the top itself.
 */
export const rebase = (content: string, directory: string): ReadonlyArray<string> => {
  const prefix = directory === "" ? "" : `/${directory.replace(/[\\*?[\]]/g, "\\$&")}`
  return content
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .flatMap((line) => {
      const rule = line.replace(/(?<!\\) +$/, "")
      const negated = rule.startsWith("!")
      const body = negated ? rule.slice(1) : rule
      if (body === "" || body === "/" || rule.startsWith("#")) return []
      if (prefix === "") return [rule]
      const anchored = body.slice(0, -1).includes("/")
      return [`${negated ? "!" : ""}${prefix}${anchored ? "/" : "/**/"}${body.replace(/^\//, "")}`]
    })
}

const empty = (): Ignore => ignore({ ignorecase: process.platform === "darwin" || process.platform === "win32" })

const text = (path: string) => Effect.tryPromise(() => readFile(path, "utf8")).pipe(Effect.orElseSucceed(() => ""))

const repository = (top: string) =>
  Effect.map(text(join(top, ".git", "info", "exclude")), (lines): Rules => ({
    base: top,
    matcher: empty().add(rebase(lines, "").join("\n"))
  }))

const ownRules = (rules: Rules, directory: string) =>
  Effect.map(text(join(directory, ".gitignore")), (lines): Rules => {
    const added = rebase(lines, relativeTo(rules.base, directory))
    return added.length === 0 ? rules : { ...rules, matcher: empty().add(rules.matcher).add(added.join("\n")) }
  })

const repositoryOf = Effect.fnUntraced(function* (root: string): Effect.fn.Return<string | undefined> {
  for (let at = root; ; at = dirname(at)) {
    const found = yield* Effect.tryPromise(() => stat(join(at, ".git"))).pipe(Effect.option)
    if (found._tag === "Some") return at
    if (dirname(at) === at) return undefined
  }
})

const between = (top: string, root: string): ReadonlyArray<string> => {
  const directories: Array<string> = []
  for (let at = dirname(root); at !== dirname(top); at = dirname(at)) directories.unshift(at)
  return directories
}

const relativeTo = (base: string, path: string): string => {
  const relative = path === base ? "" : path.slice(below(base).length)
  return sep === "/" ? relative : relative.replaceAll(sep, "/")
}
