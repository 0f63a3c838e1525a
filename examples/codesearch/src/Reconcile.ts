import * as Effect from "effect/Effect"
import type { IndexFailed } from "./api.ts"
import type { Found, Known, Place } from "./Files.ts"
import { deletionSize, ingest, type Tables } from "./Ingest.ts"

/** How far a reconciliation is: `indexed` of `total` files are up to date, `changed` had to be read in all. */
export interface Progress {
  readonly indexed: number
  readonly total: number
  readonly changed: number
}

/** The difference between the files on the disk and those in the index, fed bit by bit: first all `found`. */
export interface Difference {
  /** Notes files that are on the disk. */
  readonly found: (files: ReadonlyArray<Found>) => void
  /** Notes files that are in the index. Answers the ids of those that are on the disk no more. */
  readonly known: (files: ReadonlyArray<Known>) => ReadonlyArray<number>
  /** What must be read, in the order it was found: new, or with another size or time. */
  readonly changed: () => ReadonlyArray<Found>
}

/** A {@link Difference} that knows nothing yet. */
export const difference = (): Difference => {
  const missing = new Map<string, Found>()
  const key = ({ dir, name }: Place) => `${dir}/${name}`
  return {
    found: (files) => files.forEach((file) => missing.set(key(file), file)),
    known: (files) =>
      files.flatMap((file) => {
        const present = missing.get(key(file))
        if (present === undefined) return [file.id]
        if (present.size === file.size && present.mtime === file.mtime) missing.delete(key(file))
        return []
      }),
    changed: () => [...missing.values()]
  }
}

/**
 * Makes the index agree with what a walk of `top` has found: drops what is gone, reads what is new or has another
 * size or time, leaves the rest alone. A change that keeps both is not seen. `report` is called at least once.
 */
export const reconcile = Effect.fnUntraced(function* (
  tables: Tables,
  top: string,
  found: ReadonlyArray<Found>,
  report: (progress: Progress) => Effect.Effect<void>
): Effect.fn.Return<void, IndexFailed> {
  const compared = difference()
  for (let at = 0; at < found.length; at += pageSize) {
    compared.found(found.slice(at, at + pageSize))
    yield* Effect.yieldNow
  }
  const gone: Array<number> = []
  for (let place: Place | undefined, more = true; more;) {
    const page = yield* tables.store.read(() => tables.files.list(top, place, pageSize))
    gone.push(...compared.known(page))
    place = page.at(-1)
    more = page.length === pageSize
    yield* Effect.yieldNow
  }
  for (let at = 0; at < gone.length; at += deletionSize) {
    yield* tables.store.write(() => tables.files.drop(gone.slice(at, at + deletionSize)))
    yield* Effect.yieldNow
  }
  const changed = compared.changed()
  const unchanged = found.length - changed.length
  const progress = (done: number) => report({ indexed: unchanged + done, total: found.length, changed: changed.length })
  yield* progress(0)
  yield* ingest(tables, changed, progress)
})

const pageSize = 1000
