import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { Hit, Root } from "../src/api.ts"
import { make, type Index, type IndexOptions } from "../src/Index.ts"

/** A fresh directory, removed with everything in it at the end of the test. */
export const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(async () => realpath(await mkdtemp(join(tmpdir(), "codesearch-")))),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
)

/** Writes files, named by their paths below `directory`; missing directories are made. */
export const write = (directory: string, files: Readonly<Record<string, string | Uint8Array>>) =>
  Effect.promise(async () => {
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(directory, name)), { recursive: true })
      await writeFile(join(directory, name), content)
    }
  })

/** A fresh tree with these files. */
export const tree = Effect.fnUntraced(function* (files: Readonly<Record<string, string | Uint8Array>>) {
  const directory = yield* temporary
  yield* write(directory, files)
  return directory
})

/** An index in its own directory, or in the one given. */
export const index = Effect.fnUntraced(function* (options: Partial<IndexOptions> = {}) {
  const directory = options.directory ?? (yield* temporary)
  return yield* make({ progress: () => Effect.void, ...options, directory })
})

/** Waits until something holds of a value that is looked at every 20 ms. Dies with the last value after `within` ms. */
export const eventually = <A, E, R>(
  look: Effect.Effect<A, E, R>,
  holds: (value: A) => boolean,
  within = 10_000
): Effect.Effect<A, E, R> => {
  let last: A | undefined
  return look.pipe(
    Effect.tap((value) => Effect.sync(() => (last = value))),
    Effect.repeat({ until: holds, schedule: Schedule.spaced("20 millis") }),
    Effect.timeoutOption(within),
    Effect.flatMap((found) =>
      found._tag === "Some"
        ? Effect.succeed(last as A)
        : Effect.die(new Error(`Waited ${within} ms; the last value was ${JSON.stringify(last)}`))
    )
  )
}

/** Adds a root and waits until it is followed. */
export const followed = Effect.fnUntraced(function* (self: Index["Service"], path: string) {
  const added = yield* self.add(path)
  const roots = yield* eventually(self.roots, (roots) => stateOf(roots, added.path) === "watching")
  return roots.find((root) => root.path === added.path)!
})

/** The state of one root, if it is there. */
export const stateOf = (roots: ReadonlyArray<Root>, path: string) => roots.find((root) => root.path === path)?.state

/** The files of some hits, below `directory`, in the order of the hits. */
export const names = (directory: string, hits: ReadonlyArray<Pick<Hit, "file">>): ReadonlyArray<string> =>
  hits.map(({ file }) => file.slice(directory.length + 1))

/** Waits until a search finds exactly these files below `directory`. */
export const finds = (
  self: Index["Service"],
  directory: string,
  q: string,
  expected: ReadonlyArray<string>,
  within?: number
) =>
  eventually(
    Effect.map(self.search({ q }), (hits) => names(directory, hits)),
    (found) => JSON.stringify(found) === JSON.stringify(expected),
    within
  )
