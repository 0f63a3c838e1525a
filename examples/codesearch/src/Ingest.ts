import * as Effect from "effect/Effect"
import type { IndexFailed } from "./api.ts"
import { split } from "./Chunk.ts"
import type { Files, Found } from "./Files.ts"
import { type Content, read } from "./Read.ts"
import type { Store } from "./Store.ts"

/** What everything that changes the index works on. */
export interface Tables {
  readonly store: Store
  readonly files: Files
}

/** How many UTF-16 code units one transaction writes: some 6 ms of work, and requests are answered in between. */
export const transactionSize = 96 * 1024

/** How many rows one transaction deletes. */
export const deletionSize = 100

/** A piece of work inside a transaction, and about how much text it writes. */
export interface Step {
  readonly size: number
  readonly run: () => void
}

/** Groups steps, in order, so that no group but one of a single step exceeds `limit`. */
export const group = (steps: ReadonlyArray<Step>, limit: number): ReadonlyArray<ReadonlyArray<Step>> => {
  const groups: Array<Array<Step>> = []
  let size = Infinity
  for (const step of steps) {
    if (size + step.size > limit) {
      groups.push([])
      size = 0
    }
    groups.at(-1)!.push(step)
    size += step.size
  }
  return groups
}

/**
 * Reads files and puts what they say now into the index; what cannot be read leaves the index. A file counts as up
 * to date only with its last chunk, so one that was interrupted is read again. `done` is told after each batch how
 * many of the files are dealt with. Never blocks longer than one transaction; can be interrupted between any two.
 */
export const ingest = Effect.fnUntraced(function* (
  tables: Tables,
  changed: ReadonlyArray<Pick<Found, "dir" | "name" | "size">>,
  done: (count: number) => Effect.Effect<void>
): Effect.fn.Return<void, IndexFailed> {
  for (let at = 0; at < changed.length;) {
    const batch = take(changed, at)
    const contents = yield* Effect.forEach(batch, ({ dir, name }) => read(dir, name), { concurrency: 8 })
    const steps = batch.flatMap((file, position) => stepsFor(tables.files, file, contents[position]))
    for (const part of group(steps, transactionSize)) {
      yield* tables.store.write(() => part.forEach((step) => step.run()))
      yield* Effect.yieldNow
      yield* tables.store.write(tables.files.tidy)
      yield* Effect.yieldNow
    }
    at += batch.length
    yield* done(at)
  }
})

/**
 * Takes the file at a path, and everything below it, out of the index. `still` is asked inside each transaction
 * whether that is still wanted.
 */
export const forget = Effect.fnUntraced(function* (
  { files, store }: Tables,
  path: string,
  still: () => boolean = () => true
): Effect.fn.Return<void, IndexFailed> {
  for (let more = true; more;) {
    more = yield* store.write(() => {
      const ids = still() ? files.at(path, deletionSize) : []
      files.drop(ids)
      return ids.length === deletionSize
    })
    yield* Effect.yieldNow
  }
})

const take = <A extends { readonly size: number }>(files: ReadonlyArray<A>, from: number): ReadonlyArray<A> => {
  let size = 0
  let to = from
  while (to < files.length && to - from < 64 && size < 2 * transactionSize) {
    size += files[to]!.size
    to += 1
  }
  return files.slice(from, to)
}

// the cost of a row besides its text, and of dropping the chunks a file had before
const rowSize = 1024

const stepsFor = (
  files: Files,
  { dir, name }: Pick<Found, "dir" | "name">,
  content: Content | undefined
): ReadonlyArray<Step> => {
  if (content === undefined) {
    return [{ size: rowSize, run: () => files.drop(files.find({ dir, name })) }]
  }
  let id = 0
  return [
    { size: rowSize, run: () => void (id = files.start(content.file)) },
    ...(content.text === undefined ? [] : split(content.text)).map((chunk): Step => ({
      size: chunk.text.length + rowSize,
      run: () => files.append(id, chunk)
    })),
    { size: 0, run: () => files.finish(id, content.file) }
  ]
}
