/** Where tests that are to fail draw their timelines: a directory that goes with them. */
import { Effect } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

export const withPictures = <A, E, R>(use: (timelines: string) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-timelines-"))),
    use,
    (timelines) => Effect.sync(() => fs.rmSync(timelines, { recursive: true }))
  )
