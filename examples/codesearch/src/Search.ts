import * as Effect from "effect/Effect"
import { join } from "node:path"
import type { Hit, IndexFailed } from "./api.ts"
import type { Files, Place, Text } from "./Files.ts"
import type { Tables } from "./Ingest.ts"
import * as Match from "./Match.ts"
import { within } from "./paths.ts"

/** More texts than this that may contain the query: it is common, and reading on in order soon has enough hits. */
const manyCandidates = 4000

// as many texts as are read and searched in a few milliseconds
const pageSize = 8

/**
 * The lines that contain the query, whatever the case, below the given directories (in order, none in another): by
 * directory, then by name and line; each line once. Other work runs every few texts. A query of fewer than three
 * characters reads texts from the start until there are enough hits, so a rare one takes longest.
 */
export const search = Effect.fnUntraced(function* (
  { files, store }: Tables,
  query: { readonly q: string; readonly tops: ReadonlyArray<string>; readonly limit: number }
): Effect.fn.Return<ReadonlyArray<Hit>, IndexFailed> {
  if (Match.impossible(query.q) || query.tops.length === 0) return []
  const find = Match.pattern(query.q)
  const expression = Match.trigrams(query.q)
  const candidates =
    expression === undefined ? undefined : yield* store.read(() => files.candidates(expression, manyCandidates))
  const reader = candidates === undefined ? reading(files, query.tops) : picking(files, query.tops, candidates)
  const hits: Array<Hit> = []
  for (let more = true; more && hits.length < query.limit;) {
    const page = yield* store.read(reader)
    for (const text of page ?? []) collect(hits, text, find, query.limit)
    more = page !== undefined
    yield* Effect.yieldNow
  }
  return hits
})

/** Answers the next texts each time it is called, `undefined` after the last. */
type Reader = () => ReadonlyArray<Text> | undefined

const picking = (files: Files, tops: ReadonlyArray<string>, candidates: ReadonlyArray<number>): Reader => {
  let at = 0
  return () => {
    if (at >= candidates.length) return undefined
    const texts = files.texts(candidates.slice(at, at + pageSize))
    at += pageSize
    return texts.filter(({ dir }) => tops.some((top) => within(top, dir)))
  }
}

const reading = (files: Files, tops: ReadonlyArray<string>): Reader => {
  let top = 0
  let place: Place | undefined
  return () => {
    const directory = tops[top]
    if (directory === undefined) return undefined
    const page = files.list(directory, place, pageSize)
    place = page.at(-1)
    if (page.length < pageSize) {
      top += 1
      place = undefined
    }
    return page.flatMap(({ dir, id, name }) => files.textsOf(id).map((chunk) => ({ ...chunk, dir, name })))
  }
}

// a line longer than a chunk is in several chunks that overlap
const collect = (hits: Array<Hit>, text: Text, find: RegExp, limit: number): void => {
  const file = join(text.dir, text.name)
  const last = hits.at(-1)
  for (const hit of Match.hits(file, text, find, limit + 1)) {
    if (hits.length === limit) return
    if (last?.file !== file || last.line !== hit.line) hits.push(hit)
  }
}
