import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type * as Stream from "effect/Stream"
import { realpath } from "node:fs/promises"
import { resolve } from "node:path"
import {
  defaultLimit,
  type Hit,
  type IndexFailed,
  type Root,
  type RootRefused,
  type RootsEvent,
  RootUnknown
} from "./api.ts"
import { acceptable } from "./accept.ts"
import * as Files from "./Files.ts"
import { follow } from "./Follow.ts"
import * as Roots from "./Roots.ts"
import { search } from "./Search.ts"
import * as Store from "./Store.ts"
import { sweep } from "./Sweep.ts"
import type { Open } from "./Watch.ts"

/** How to make an {@link Index}. */
export interface IndexOptions<R = never> extends Store.StoreOptions<R> {
  /** Told in words how far the start is; not called any more afterwards. */
  readonly progress: (text: string) => Effect.Effect<void>
  /** Default: every 10 minutes. See `FollowOptions`. */
  readonly rescanEvery?: Duration.Input | undefined
  /** Default: every 30 seconds. See `FollowOptions`. */
  readonly pollEvery?: Duration.Input | undefined
  /** How directories are watched, by default `fs.watch`. */
  readonly open?: Open | undefined
  /** Whether one watch covers a whole tree, by default everywhere but on Linux. */
  readonly recursive?: boolean | undefined
}

/** One shared index of the source trees its clients name. The meaning of each answer is described in `api.ts`. */
export class Index extends Context.Service<
  Index,
  {
    readonly search: (query: {
      readonly q: string
      readonly dir?: string | undefined
      readonly limit?: number | undefined
    }) => Effect.Effect<ReadonlyArray<Hit>, IndexFailed>
    readonly roots: Effect.Effect<ReadonlyArray<Root>>
    readonly changes: Stream.Stream<RootsEvent>
    readonly add: (path: string) => Effect.Effect<Root, RootRefused | IndexFailed>
    readonly remove: (path: string) => Effect.Effect<Root, RootUnknown | IndexFailed>
  }
>()("codesearch/Index") {
  /** {@link make} as a layer. */
  static readonly layerWith = <R = never>(
    options: IndexOptions<R>
  ): Layer.Layer<Index, Store.IndexUnavailable, Exclude<R, Scope.Scope>> => Layer.effect(Index, make(options))
}

/**
 * Opens the index in `options.directory` and brings every known root up to date before it is done, one after another,
 * with `progress`; a root that cannot be read is marked and does not hold up the start. Stops with its scope.
 */
export const make = Effect.fnUntraced(function* <R = never>(
  options: IndexOptions<R>
): Effect.fn.Return<Index["Service"], Store.IndexUnavailable, Scope.Scope | R> {
  const store = yield* Store.open(options)
  const files = Files.make(store)
  const tables = { store, files }
  const roots = yield* Roots.make
  const fibers = yield* FiberMap.make<string>()
  const turn = yield* Semaphore.make(1)
  const changing = yield* Semaphore.make(1)
  const except = yield* real(options.directory)
  let starting = true

  const start = Effect.fnUntraced(function* (path: string) {
    const settled = yield* Deferred.make<void>()
    const report = Effect.fnUntraced(function* (root: Root, gone: boolean) {
      yield* roots.set({ root, gone })
      const text = starting ? Roots.sentence(root) : undefined
      if (text !== undefined) yield* options.progress(text)
    })
    const following = follow({
      tables,
      tree: { root: path, except },
      turn,
      report,
      settled: Deferred.succeed(settled, undefined),
      open: options.open,
      recursive: options.recursive,
      rescanEvery: options.rescanEvery ?? "10 minutes",
      pollEvery: options.pollEvery ?? "30 seconds"
    })
    yield* FiberMap.run(fibers, path, following)
    return settled
  })
  const stop = (path: string) => FiberMap.remove(fibers, path)
  const paths = () => roots.all().map(({ root }) => root.path)
  const clean = FiberMap.run(fibers, sweeping, sweep(tables, paths))

  const add = Effect.fnUntraced(function* (named: string): Effect.fn.Return<Root, RootRefused | IndexFailed> {
    const path = yield* acceptable(named, except)
    const placement = Roots.place(paths(), path)
    if (placement._tag === "Covered") return roots.get(placement.by)!.root
    yield* store.write(() => {
      files.addRoot(path)
      placement.replaces.forEach(files.dropRoot)
    })
    const root: Root = { path, indexed: 0, total: 0, state: "scanning" }
    // only now, since what is followed reports itself; and at once, since the sweep drops what no root covers
    yield* Effect.forEach(placement.replaces, stop)
    yield* roots.replace(placement.replaces, [{ root, gone: false }])
    yield* start(path)
    return root
  })
  const remove = Effect.fnUntraced(function* (named: string): Effect.fn.Return<Root, RootUnknown | IndexFailed> {
    const path = roots.get(resolve(named)) === undefined ? yield* real(named) : resolve(named)
    const entry = roots.get(path)
    if (entry === undefined) return yield* unknown(named)
    yield* store.write(() => files.dropRoot(path))
    yield* stop(path)
    yield* roots.replace([path], [])
    yield* clean
    return entry.root
  })

  const known = yield* Effect.mapError(
    store.read(files.roots),
    ({ action, message }) => new Store.IndexUnavailable({ action, message })
  )
  for (const path of known) yield* Effect.flatMap(start(path), Deferred.await)
  starting = false
  yield* clean

  return Index.of({
    search: Effect.fnUntraced(function* ({ dir, limit = defaultLimit, q }) {
      const tops = Roots.scope(roots.all(), dir === undefined ? undefined : yield* real(dir))
      return yield* search(tables, { q, tops, limit })
    }),
    roots: Effect.sync(() => roots.all().map(({ root }) => root)),
    changes: roots.changes,
    add: (path) => changing.withPermit(Effect.uninterruptible(add(path))),
    remove: (path) => changing.withPermit(Effect.uninterruptible(remove(path)))
  })
})

// not a path, so it never meets a root's
const sweeping = "sweep"

const real = (path: string) => Effect.promise(() => realpath(path).catch(() => resolve(path)))

const unknown = (path: string) =>
  new RootUnknown({ path, message: `${path} is not among the indexed directories.`, action: "List them first." })
