import * as Effect from "effect/Effect"
import { opendir, realpath, stat } from "node:fs/promises"
import { dirname, isAbsolute } from "node:path"
import { RootRefused } from "./api.ts"
import { within } from "./paths.ts"
import { codeOf, reasonOf } from "./reason.ts"

/**
 * The real path of a directory that can become a root. Refused: a path that is not absolute, missing, not a
 * directory, not readable, the top of a file system, or in the directory the index itself lies in.
 */
export const acceptable = Effect.fnUntraced(function* (
  path: string,
  except: string
): Effect.fn.Return<string, RootRefused> {
  const refuse = (why: string, action: string) => new RootRefused({ path, message: `${path}: ${why}.`, action })
  if (!isAbsolute(path)) return yield* refuse("it is not an absolute path", "Name the directory from the top.")
  const found = yield* Effect.tryPromise({
    try: async () => {
      const real = await realpath(path)
      const directory = (await stat(real)).isDirectory()
      if (directory) await (await opendir(real)).close()
      return { real, directory }
    },
    catch: (cause) =>
      refuse(
        reasonOf(cause),
        codeOf(cause) === "ENOENT" ? "Check the spelling." : "Name a directory that you can read."
      )
  })
  if (!found.directory) return yield* refuse("it is not a directory", "Name the directory it lies in.")
  if (dirname(found.real) === found.real) {
    return yield* refuse("it is a whole file system", "Name a directory with source code in it.")
  }
  if (within(except, found.real)) {
    return yield* refuse("the index itself is kept there", "Name a directory with source code in it.")
  }
  return found.real
})
