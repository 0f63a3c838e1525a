import * as Effect from "effect/Effect"
import type { Files } from "./Files.ts"
import { deletionSize, type Tables } from "./Ingest.ts"
import { below, within } from "./paths.ts"

/**
 * Takes out of the index what lies under none of the roots: left by a removed root, bit by bit. Which roots there
 * are is asked inside each transaction, so a root added meanwhile keeps its files. A failure is logged; the next
 * sweep goes on.
 */
export const sweep = Effect.fnUntraced(
  function* ({ files, store }: Tables, roots: () => ReadonlyArray<string>) {
    for (let at: string | undefined = ""; at !== undefined;) {
      const from: string = at
      at = yield* store.write(() => step(files, roots(), from))
      yield* Effect.yieldNow
    }
  },
  Effect.catch((error) => Effect.logWarning(`Cleaning the index stopped: ${error.message}`))
)

const step = (files: Files, roots: ReadonlyArray<string>, after: string): string | undefined => {
  const directory = files.nextDirectory(after)
  if (directory === undefined) return undefined
  const root = roots.find((path) => within(path, directory))
  // "/a-b" comes between "/a" and "/a/b"
  if (root !== undefined) return directory === root ? directory : `${below(root)}\u{10FFFF}`
  files.drop(
    files
      .list(directory, undefined, deletionSize)
      .filter(({ dir }) => dir === directory)
      .map(({ id }) => id)
  )
  return after
}
