import * as Effect from "effect/Effect"
import { lstat, readdir } from "node:fs/promises"
import { basename, dirname } from "node:path"
import type { IndexFailed } from "./api.ts"
import type { Found } from "./Files.ts"
import * as Ignore from "./Ignore.ts"
import { forget, ingest, type Tables } from "./Ingest.ts"
import { within } from "./paths.ts"
import { reconcile } from "./Reconcile.ts"
import { largestFile, walk } from "./Walk.ts"
import type { Watch } from "./Watch.ts"

/** A root and what is never looked at inside it. */
export interface Tree {
  readonly root: string
  readonly except: string
}

/** More changed paths than this are looked at by listing the root again. */
export const manyPaths = 1000

/**
 * What a set of changed paths asks for: these paths to be looked at again, a directory for all that is in it; or
 * the whole root. A changed `.gitignore` stands for its directory.
 */
export const plan = (root: string, paths: ReadonlySet<string>): ReadonlyArray<string> | "everything" => {
  const wanted = new Set<string>()
  for (const path of paths) {
    const at = basename(path) === ".gitignore" ? dirname(path) : path
    if (within(root, at)) wanted.add(at)
  }
  return wanted.has(root) || wanted.size > manyPaths ? "everything" : [...wanted].toSorted()
}

/**
 * Looks again at the planned paths and makes the index agree: a file is read whatever its time says, a directory is
 * walked and watched anew, what is gone or excluded by now leaves the index.
 */
export const refresh = Effect.fnUntraced(function* (
  tables: Tables,
  tree: Tree,
  watch: Watch,
  paths: ReadonlyArray<string>
): Effect.fn.Return<void, IndexFailed> {
  const rulesIn = yield* rulesOf(tree)
  const changed: Array<Found> = []
  let walked: string | undefined
  for (const path of paths) {
    if (walked !== undefined && within(walked, path)) continue
    const rules = yield* rulesIn(dirname(path))
    const now = yield* look(path)
    const kind = now?.kind
    if (rules === undefined || kind === undefined || path === tree.except || Ignore.excludes(rules, path, kind)) {
      watch.leave(path)
      yield* forget(tables, path)
    } else if (kind === "file") {
      if (now!.file.size > largestFile) yield* forget(tables, path)
      else changed.push(now!.file)
    } else {
      watch.leave(path)
      yield* walkAgain(tables, tree, watch, rules, path)
      walked = path
    }
  }
  yield* ingest(tables, changed, () => Effect.void)
})

const walkAgain = Effect.fnUntraced(function* (
  tables: Tables,
  tree: Tree,
  watch: Watch,
  rules: Ignore.Rules,
  top: string
): Effect.fn.Return<void, IndexFailed> {
  const found = yield* walk({ top, rules, except: tree.except, entering: watch.enter }).pipe(
    Effect.orElseSucceed((): ReadonlyArray<Found> => [])
  )
  yield* reconcile(tables, top, found, () => Effect.void)
})

/** The rules inside a directory of the tree, each read once; `undefined` for one that is excluded or not there. */
const rulesOf = Effect.fnUntraced(function* (tree: Tree) {
  const outer = yield* Ignore.outer(tree.root)
  const known = new Map<string, Ignore.Rules | undefined>()
  const rulesIn = (directory: string): Effect.Effect<Ignore.Rules | undefined> =>
    known.has(directory)
      ? Effect.succeed(known.get(directory))
      : Effect.tap(enter(directory), (rules) => Effect.sync(() => known.set(directory, rules)))
  const enter = Effect.fnUntraced(function* (directory: string) {
    const parent = directory === tree.root ? outer : yield* rulesIn(dirname(directory))
    if (parent === undefined || directory === tree.except) return undefined
    if (directory !== tree.root && Ignore.excludes(parent, directory, "directory")) return undefined
    const names = yield* Effect.promise(() => readdir(directory).catch(() => undefined))
    return names === undefined ? undefined : yield* Ignore.enter(parent, directory, new Set(names))
  })
  return rulesIn
})

const look = (path: string) =>
  Effect.promise(() =>
    lstat(path).then(
      (stats) => {
        const kind = stats.isFile() ? ("file" as const) : stats.isDirectory() ? ("directory" as const) : undefined
        const file: Found = { dir: dirname(path), name: basename(path), size: stats.size, mtime: stats.mtimeMs }
        return kind === undefined ? undefined : { kind, file }
      },
      () => undefined
    )
  )
