import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import { basename } from "node:path"
import type { Root, RootsEvent } from "./api.ts"
import { within } from "./paths.ts"

/** A root, and whether its directory is gone now: its files are then kept, and not searched. */
export interface Entry {
  readonly root: Root
  readonly gone: boolean
}

/** What becomes of a directory named as a root: one known already covers it, or it is added in place of some. */
export type Placement =
  | { readonly _tag: "Covered"; readonly by: string }
  | { readonly _tag: "New"; readonly replaces: ReadonlyArray<string> }

/** Decides a {@link Placement}. Roots never lie inside each other. */
export const place = (known: ReadonlyArray<string>, path: string): Placement => {
  const by = known.find((root) => within(root, path))
  return by === undefined
    ? { _tag: "New", replaces: known.filter((root) => within(path, root)) }
    : { _tag: "Covered", by }
}

/** The directories a search goes through: the roots, or the part of them inside `dir`; in order, none in another. */
export const scope = (entries: ReadonlyArray<Entry>, dir: string | undefined): ReadonlyArray<string> => {
  const roots = entries.filter(({ gone }) => !gone).map(({ root }) => root.path)
  if (dir === undefined) return roots
  return roots.some((root) => within(root, dir)) ? [dir] : roots.filter((root) => within(dir, root))
}

/** Which roots are not read to their end now. */
export const underWay = (roots: ReadonlyArray<Root>): ReadonlyArray<string> =>
  roots.filter(({ state }) => state === "scanning" || state === "indexing").map(({ path }) => path)

/** What a person reads while a root is made ready; `undefined` when there is nothing to wait for. */
export const sentence = ({ indexed, path, state, total }: Root): string | undefined => {
  const name = basename(path)
  if (state === "scanning") return `Looking through ${name}…`
  return state === "indexing" ? `Reading ${number(indexed)} of ${number(total)} files in ${name}…` : undefined
}

const number = (value: number): string => value.toLocaleString("en-US")

/** What happened to the roots between two moments. */
export const events = (
  before: ReadonlyMap<string, Entry>,
  after: ReadonlyMap<string, Entry>
): ReadonlyArray<RootsEvent> => [
  ...[...before.keys()].flatMap((path): ReadonlyArray<RootsEvent> =>
    after.has(path) ? [] : [{ type: "removed", path }]
  ),
  ...[...after].flatMap(([path, { root }]): ReadonlyArray<RootsEvent> =>
    before.get(path)?.root === root ? [] : [{ type: "changed", root }]
  )
]

/** The roots and what is known about each, in memory, by path. `changes` sends the present ones first, then changes. */
export interface Roots {
  readonly all: () => ReadonlyArray<Entry>
  readonly get: (path: string) => Entry | undefined
  readonly set: (entry: Entry) => Effect.Effect<void>
  /** Takes some away and adds others, with no moment in between. */
  readonly replace: (paths: ReadonlyArray<string>, entries: ReadonlyArray<Entry>) => Effect.Effect<void>
  readonly changes: Stream.Stream<RootsEvent>
}

/** No roots at first. */
export const make: Effect.Effect<Roots> = Effect.gen(function* () {
  const ref = yield* SubscriptionRef.make<ReadonlyMap<string, Entry>>(new Map())
  const ordered = (map: ReadonlyMap<string, Entry>) => [...map].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return {
    all: () => ordered(SubscriptionRef.getUnsafe(ref)).map(([, entry]) => entry),
    get: (path) => SubscriptionRef.getUnsafe(ref).get(path),
    set: (entry) => SubscriptionRef.update(ref, (map) => new Map(map).set(entry.root.path, entry)),
    replace: (paths, entries) =>
      SubscriptionRef.update(ref, (map) => {
        const kept = [...map].filter(([path]) => !paths.includes(path))
        return new Map([...kept, ...entries.map((entry) => [entry.root.path, entry] as const)])
      }),
    changes: SubscriptionRef.changes(ref).pipe(
      Stream.mapAccum(
        (): ReadonlyMap<string, Entry> | undefined => undefined,
        (before, after): readonly [ReadonlyMap<string, Entry>, ReadonlyArray<RootsEvent>] => [
          after,
          before === undefined
            ? [{ type: "current", roots: ordered(after).map(([, { root }]) => root) }]
            : events(before, after)
        ]
      )
    )
  }
})
