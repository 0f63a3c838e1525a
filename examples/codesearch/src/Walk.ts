import * as Effect from "effect/Effect"
import { lstat, readdir } from "node:fs/promises"
import { join } from "node:path"
import type { Found } from "./Files.ts"
import * as Ignore from "./Ignore.ts"

/** Files larger than this, in bytes, are not indexed. */
export const largestFile = 1024 * 1024

/** How to walk: below `top`, a directory that is itself wanted, under the rules of its parent. */
export interface WalkOptions {
  readonly top: string
  readonly rules: Ignore.Rules
  /** A directory never entered: the one the index itself lies in, which would otherwise change by being read. */
  readonly except: string
  /** Called for each directory before it is listed, so that a watch begun here misses nothing. */
  readonly entering?: ((directory: string) => void) | undefined
}

/** The top of a walk cannot be listed; `cause` is the system's error. */
export interface TopUnreadable {
  readonly _tag: "TopUnreadable"
  readonly cause: unknown
}

/**
 * The regular files below `top`, directory by directory, by name, that no rule excludes and that are not too large.
 * Symbolic links are not followed (where they point is found under its own name, or is not in the root), so there
 * are no loops. What vanishes or cannot be read on the way is left out. Other work runs in between.
 */
export const walk = Effect.fnUntraced(function* (
  options: WalkOptions
): Effect.fn.Return<ReadonlyArray<Found>, TopUnreadable> {
  const found: Array<Found> = []
  const pending = [{ directory: options.top, rules: options.rules }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { directory, rules: outside } = next
    options.entering?.(directory)
    const listed = yield* Effect.result(list(directory))
    if (listed._tag === "Failure") {
      if (directory === options.top) return yield* Effect.fail(listed.failure)
      continue
    }
    const entries = listed.success
    const rules = yield* Ignore.enter(outside, directory, new Set(entries.map(({ name }) => name)))
    const directories: Array<{ directory: string; rules: Ignore.Rules }> = []
    for (let at = 0; at < entries.length; at += slice) {
      const files: Array<string> = []
      for (const entry of entries.slice(at, at + slice)) {
        const path = join(directory, entry.name)
        if (entry.isDirectory()) {
          if (path !== options.except && !Ignore.excludes(rules, path, "directory")) {
            directories.push({ directory: path, rules })
          }
        } else if (entry.isFile() && !Ignore.excludes(rules, path, "file")) files.push(entry.name)
      }
      found.push(...(yield* measure(directory, files)))
      yield* Effect.yieldNow
    }
    for (const inner of directories.toReversed()) pending.push(inner)
  }
  return found
})

// as many names as are checked against the rules in a few milliseconds
const slice = 256

const list = (directory: string) =>
  Effect.tryPromise({
    try: async () => {
      const entries = await readdir(directory, { withFileTypes: true })
      return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    },
    catch: (cause): TopUnreadable => ({ _tag: "TopUnreadable", cause })
  })

const measure = (dir: string, names: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const measured = await Promise.all(names.map(async (name) => inspect(dir, name)))
    return measured.filter((file) => file !== undefined)
  })

const inspect = (dir: string, name: string): Promise<Found | undefined> =>
  lstat(join(dir, name)).then(
    (stats) =>
      stats.isFile() && stats.size <= largestFile ? { dir, name, size: stats.size, mtime: stats.mtimeMs } : undefined,
    () => undefined
  )
