import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type * as Semaphore from "effect/Semaphore"
import { lstat } from "node:fs/promises"
import type { IndexFailed, Root } from "./api.ts"
import * as Ignore from "./Ignore.ts"
import type { Tables } from "./Ingest.ts"
import { reasonOf } from "./reason.ts"
import { type Progress, reconcile } from "./Reconcile.ts"
import { plan, refresh, type Tree } from "./Refresh.ts"
import { type TopUnreadable, walk } from "./Walk.ts"
import * as Watch from "./Watch.ts"

/** How to keep a root up to date. */
export interface FollowOptions {
  readonly tables: Tables
  readonly tree: Tree
  /** One root at a time is listed and read as a whole; a saved file does not wait for that. */
  readonly turn: Semaphore.Semaphore
  /** Told of every change of the root; `gone` when its directory is not there. */
  readonly report: (root: Root, gone: boolean) => Effect.Effect<void>
  /** Run, maybe several times, once the root is `watching` or `failed`. */
  readonly settled: Effect.Effect<unknown>
  readonly open?: Watch.Open | undefined
  readonly recursive?: boolean | undefined
  /** How often everything is looked at again although the watch works, since a watch may miss changes. */
  readonly rescanEvery: Duration.Input
  /** How often everything is looked at again when watching does not work, or after a failure. */
  readonly pollEvery: Duration.Input
}

/** The directory of a root is not there. */
interface RootGone {
  readonly _tag: "RootGone"
}

/**
 * Keeps the index of one root up to date, for ever. It lists the root, reads what has changed, then follows the
 * watch. When the root is gone it waits for its return; after any other failure it begins again after `pollEvery`.
 */
export const follow = Effect.fnUntraced(function* (options: FollowOptions): Effect.fn.Return<never> {
  const { root } = options.tree
  for (let quiet = false; ;) {
    const ended: Result.Result<void, Ending> = yield* Effect.result(
      Effect.scoped(cycle(options, quiet)).pipe(Effect.catchDefect(unexpected))
    )
    quiet = ended._tag === "Success"
    if (ended._tag === "Success") continue
    const gone = ended.failure._tag === "RootGone"
    const indexed = yield* counted(options)
    yield* options.report({ path: root, indexed, total: indexed, state: "failed", message: words(ended.failure) }, gone)
    yield* options.settled
    if (gone) yield* returned(root)
    else yield* Effect.sleep(options.pollEvery)
  }
})

type Ending = RootGone | TopUnreadable | IndexFailed | Unexpected

interface Unexpected {
  readonly _tag: "Unexpected"
}

const unexpected = (defect: unknown) =>
  Effect.logError("Following a root failed unexpectedly", defect).pipe(
    Effect.andThen(Effect.fail<Unexpected>({ _tag: "Unexpected" }))
  )

const words = (ending: Ending): string => {
  if (ending._tag === "RootGone") return "The directory is not there any more. It is searched again when it returns."
  if (ending._tag === "TopUnreadable") return `The directory cannot be read: ${reasonOf(ending.cause)}.`
  return ending._tag === "IndexFailed"
    ? `${ending.message} ${ending.action}`
    : "Following the directory failed unexpectedly; the service's log has the details."
}

/** From opening a watch to the moment everything has to be looked at again. */
const cycle = Effect.fnUntraced(function* (
  options: FollowOptions,
  quiet: boolean
): Effect.fn.Return<void, Ending, Scope.Scope> {
  const { tables, tree } = options
  const path = tree.root
  yield* present(path)
  const watch = yield* Watch.make(path, options)
  yield* options.turn.withPermit(scan(options, watch, quiet))
  const watching = Effect.fnUntraced(function* (message?: string) {
    const indexed = yield* counted(options)
    const state = { path, indexed, total: indexed, state: "watching" as const }
    yield* options.report(message === undefined ? state : { ...state, message }, false)
  })
  yield* watching()
  yield* options.settled
  for (;;) {
    const change = yield* Effect.timeoutOption(watch.next, options.rescanEvery)
    if (change._tag === "None") return
    if (change.value._tag === "Broken") {
      yield* watching(`Changes are found more slowly: ${change.value.reason}.`)
      return yield* Effect.sleep(options.pollEvery)
    }
    yield* present(path)
    const paths = plan(path, change.value.paths)
    if (paths === "everything") return
    yield* refresh(tables, tree, watch, paths)
    yield* watching()
  }
})

const scan = Effect.fnUntraced(function* (options: FollowOptions, watch: Watch.Watch, quiet: boolean) {
  const { tables, tree } = options
  const path = tree.root
  const known = yield* counted(options)
  if (!quiet) yield* options.report({ path, indexed: known, total: known, state: "scanning" }, false)
  const rules = yield* Ignore.outer(path)
  const found = yield* walk({ top: path, rules, except: tree.except, entering: watch.enter })
  let reported = -Infinity
  const report = Effect.fnUntraced(function* ({ changed, indexed, total }: Progress) {
    const now = yield* Clock.currentTimeMillis
    if (now - reported < 100 || (quiet && changed < loud)) return
    reported = now
    yield* options.report({ path, indexed, total, state: "indexing" }, false)
  })
  yield* reconcile(tables, path, found, report)
})

// fewer files than this are read before anybody wonders
const loud = 200

const counted = ({ tables, tree }: FollowOptions) =>
  tables.store.read(() => tables.files.count(tree.root)).pipe(Effect.orElseSucceed(() => 0))

const isDirectory = (path: string) =>
  Effect.promise(() =>
    lstat(path).then(
      (stats) => stats.isDirectory(),
      () => false
    )
  )

const present = (path: string) =>
  Effect.flatMap(isDirectory(path), (here) => (here ? Effect.void : Effect.fail<RootGone>({ _tag: "RootGone" })))

const returned = Effect.fnUntraced(function* (path: string) {
  while (!(yield* isDirectory(path))) yield* Effect.sleep("1 second")
})
