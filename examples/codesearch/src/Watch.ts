import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { type FSWatcher, watch as watchNode } from "node:fs"
import { basename, join, sep } from "node:path"
import { within } from "./paths.ts"
import { codeOf, reasonOf } from "./reason.ts"

/** What may have changed: these paths (a directory stands for everything below it). Or the watch is over. */
export type Change =
  | { readonly _tag: "Changed"; readonly paths: ReadonlySet<string> }
  | { readonly _tag: "Broken"; readonly reason: string }

/** Begins to watch one directory, as `fs.watch` does; throws or emits `error` when it cannot. */
export type Open = (
  directory: string,
  options: { readonly recursive: boolean },
  listener: (event: string, name: string | null) => void
) => FSWatcher

/**
 * The watch on one tree. `enter` is called for a directory before it is listed. `leave` ends the watch on what was at
 * or below a path. `next` waits for changes, then until they pause for 40 ms, at most 240 ms; it answers `Broken` once,
 * after which nothing is watched any more. Interrupting it loses no path.
 */
export interface Watch {
  readonly enter: (directory: string) => void
  readonly leave: (path: string) => void
  readonly next: Effect.Effect<Change>
}

/**
 * Watches a tree until the scope ends. With `recursive` (the default except on Linux) the system watches all of
 * it. Without, each entered directory is watched by itself: an ignored `node_modules` then costs nothing.
 * A watch may miss changes (on network drives, in a storm); somebody has to look again once in a while.
 */
export const make = Effect.fnUntraced(function* (
  root: string,
  options: { readonly recursive?: boolean | undefined; readonly open?: Open | undefined } = {}
): Effect.fn.Return<Watch, never, Scope.Scope> {
  const recursive = options.recursive ?? process.platform !== "linux"
  const open = options.open ?? watchNode
  const signal = yield* Queue.sliding<void>(1)
  const watchers = new Map<string, FSWatcher>()
  let paths = new Set<string>()
  let events = 0
  let broken: string | undefined

  const leave = (path: string) => {
    for (const [directory, watcher] of watchers) {
      if (!within(path, directory)) continue
      watcher.close()
      watchers.delete(directory)
    }
  }
  const touch = (path: string) => {
    if (path.includes(`${sep}.git${sep}`)) return
    paths.add(path)
    events += 1
    Queue.offerUnsafe(signal, undefined)
  }
  const fail = (directory: string, cause: unknown) => {
    if (harmless.has(codeOf(cause))) return touch(directory)
    broken ??= codeOf(cause) === "ENOSPC" ? "the system allows no more watched directories" : reasonOf(cause)
    leave(root)
    Queue.offerUnsafe(signal, undefined)
  }
  const enter = (directory: string) => {
    if (broken !== undefined || watchers.has(directory) || (recursive && directory !== root)) return
    try {
      const watcher = open(directory, { recursive }, (_, name) => {
        touch(name === null || isItself(directory, name) ? directory : join(directory, name))
      })
      watchers.set(directory, watcher)
      watcher.on("error", (cause) => {
        if (watchers.get(directory) === watcher) fail(directory, cause)
      })
    } catch (cause) {
      if (!harmless.has(codeOf(cause))) fail(directory, cause)
    }
  }
  const pause = Effect.gen(function* () {
    for (let round = 0; round < 6; round++) {
      const before = events
      yield* Effect.sleep("40 millis")
      if (events === before) break
    }
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => leave(root)))
  return {
    enter,
    leave,
    next: Queue.take(signal).pipe(
      Effect.andThen(pause),
      Effect.andThen(
        Effect.sync((): Change => {
          if (broken !== undefined) return { _tag: "Broken", reason: broken }
          const taken = paths
          paths = new Set()
          return { _tag: "Changed", paths: taken }
        })
      )
    )
  }
})

// the directory is gone or closed to us: the walk notices, watching others goes on
const harmless: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP"])

// how the end of a watched directory is reported: with its own name, or (Bun, recursive) without one
const isItself = (directory: string, name: string | undefined): boolean =>
  name === undefined || name === "" || name === basename(directory)
