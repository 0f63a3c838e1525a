import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { IndexFailed } from "./api.ts"
import * as Database from "./Database.ts"
import { codeOf, reasonOf } from "./reason.ts"

/** The index cannot be opened at all, so the service cannot start. `action` says what a person can do. */
export class IndexUnavailable extends Schema.TaggedError<IndexUnavailable>()("IndexUnavailable", {
  message: Schema.String,
  action: Schema.String
}) {}

/** Runs `body` inside one transaction: all of it, or (when it throws or the transaction is refused) nothing. */
export type Writer = <A>(body: () => A) => Effect.Effect<A, unknown>

/**
 * The open index database, closed with its scope. `write` is the only way to change it: it blocks the event
 * loop while `body` runs, so a body does a few milliseconds of work. `read` runs a synchronous query. Both fail
 * with `IndexFailed`; after finding the file damaged, the next opening rebuilds it. `trigrams` says whether the
 * full-text index exists; without it a search reads every text, with the same answers.
 */
export interface Store {
  readonly database: DatabaseSync
  readonly trigrams: boolean
  readonly write: <A>(body: () => A) => Effect.Effect<A, IndexFailed>
  readonly read: <A>(body: () => A) => Effect.Effect<A, IndexFailed>
}

/** How to open a {@link Store}. `writer` gets the database once and answers what runs every write from then on. */
export interface StoreOptions<R = never> {
  readonly directory: string
  readonly writer?: ((database: DatabaseSync) => Effect.Effect<Writer, never, R>) | undefined
}

/** The plain {@link Writer}: takes the write lock first, so that `body` never sees a busy database halfway. */
export const transaction =
  (database: DatabaseSync): Writer =>
  (body) =>
    // whatever the body threw is passed on as it is; `write` gives it words
    // @effect-diagnostics-next-line unknownInEffectCatch:off
    Effect.try({ try: () => atomically(database, body), catch: (cause) => cause })

const atomically = <A>(database: DatabaseSync, body: () => A): A => {
  database.exec("BEGIN IMMEDIATE")
  try {
    const value = body()
    database.exec("COMMIT")
    return value
  } catch (cause) {
    // a full disk has already ended the transaction
    if (database.isTransaction) database.exec("ROLLBACK")
    throw cause
  }
}

/**
 * Opens `index.db` in `directory` (made if missing, 0700), mode 0600. Every table is made and read under
 * `writer`, by default {@link transaction}. A damaged file, or one with another schema version, is kept beside as
 * `index.db.set-aside` (only the latest) and replaced by an empty index that still names the roots, as far as they
 * could be read; a warning is logged. Fails when there is no directory to write to, or another process uses it.
 */
export const open = Effect.fnUntraced(function* <R = never>(
  options: StoreOptions<R>
): Effect.fn.Return<Store, IndexUnavailable, Scope.Scope | R> {
  const { directory } = options
  const file = join(directory, "index.db")
  const marker = `${file}.damaged`
  const attempt = <A>(body: () => A) => Effect.try({ try: body, catch: (cause) => unavailable(directory, cause) })

  yield* attempt(() => prepare(directory, file))
  const found = yield* attempt(() => Database.inspect(file, existsSync(marker)))
  if (found._tag === "Unusable") {
    yield* Effect.logWarning(`The index in ${directory} ${found.reason}; it is set aside and built again.`)
    yield* attempt(() => setAside(file, marker))
  }
  const database = yield* Effect.acquireRelease(
    attempt(() => Database.connect(file)),
    (database) => Effect.sync(() => database.close())
  )
  yield* attempt(() => database.exec(pragmas))
  const run = options.writer === undefined ? transaction(database) : yield* options.writer(database)
  const failed = (cause: unknown): IndexFailed => {
    if (Database.isDamage(cause)) writeFileSync(marker, "", { mode: 0o600 })
    return failure(cause)
  }
  const write: Store["write"] = (body) => Effect.mapError(run(body), failed)
  const trigrams = yield* Effect.mapError(
    run(() => Database.create(database, found._tag === "Unusable" ? found.roots : [])),
    (cause) => unavailable(directory, cause)
  )
  if (!trigrams) yield* Effect.logWarning("This SQLite has no trigram index; searches read every text instead.")
  return { database, trigrams, write, read: (body) => Effect.try({ try: body, catch: failed }) }
})

// A checkpoint of 256 pages is short; what a power cut takes from the index is read again.
const pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 256"

const prepare = (directory: string, file: string): void => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  closeSync(openSync(file, "a", 0o600))
  chmodSync(file, 0o600)
}

const setAside = (file: string, marker: string): void => {
  rmSync(`${file}.set-aside`, { force: true })
  renameSync(file, `${file}.set-aside`)
  for (const rest of [`${file}-wal`, `${file}-shm`, `${file}-journal`, marker]) rmSync(rest, { force: true })
  closeSync(openSync(file, "a", 0o600))
}

const failure = (cause: unknown): IndexFailed =>
  new IndexFailed({
    message: `The index could not be used: ${reasonOf(cause)}.`,
    action: Database.isDamage(cause)
      ? "Restart the service; the index is then built again."
      : "Free some disk space or restart the service."
  })

const unavailable = (directory: string, cause: unknown): IndexUnavailable =>
  new IndexUnavailable({
    message: `The index in ${directory} cannot be opened: ${reasonOf(cause)}.`,
    action:
      codeOf(cause) === 5
        ? "Stop the other program that uses this index."
        : "Make it a directory you can write to, or choose another one for the service's state."
  })
