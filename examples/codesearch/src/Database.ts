import { DatabaseSync } from "node:sqlite"
import { codeOf } from "./reason.ts"

/** The version of the tables; a file with any other is set aside, newer or older: the index is only a cache. */
export const schemaVersion = 1

/** What {@link inspect} found: a file to go on with, or one to set aside, and the roots it still names. */
export type Inspection =
  | { readonly _tag: "Usable" }
  | { readonly _tag: "Unusable"; readonly reason: string; readonly roots: ReadonlyArray<string> }

/** Opens a database file; a lock held by another process is waited for up to 2 s. Throws SQLite's own errors. */
export const connect = (file: string): DatabaseSync => new DatabaseSync(file, { timeout: 2000 })

/** Whether SQLite says that the file itself is broken, or is no database. */
export const isDamage = (cause: unknown): boolean => codeOf(cause) === 11 || codeOf(cause) === 26

/**
 * Looks at a database file and changes nothing. It finds a file that is no database, other tables, another
 * version; not damage inside a page, which shows when that page is read. Throws what is neither (no access).
 */
export const inspect = (file: string, knownDamaged: boolean): Inspection => {
  const database = connect(file)
  try {
    if (knownDamaged) return { _tag: "Unusable", reason: "was found damaged", roots: rootsIn(database) }
    const version = database.prepare("PRAGMA user_version").get()?.["user_version"]
    const tables = database.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.["n"]
    if (tables === 0) return { _tag: "Usable" }
    if (version !== schemaVersion) {
      return { _tag: "Unusable", reason: `has version ${version}, not ${schemaVersion}`, roots: rootsIn(database) }
    }
    database
      .prepare("SELECT dir, name, size, mtime, line, col, text FROM chunks JOIN files ON files.id = file LIMIT 1")
      .get()
    return { _tag: "Usable" }
  } catch (cause) {
    if (!isDamage(cause) && codeOf(cause) !== sqlError) throw cause
    return { _tag: "Unusable", reason: "is damaged", roots: rootsIn(database) }
  } finally {
    database.close()
  }
}

const sqlError = 1

const rootsIn = (database: DatabaseSync): ReadonlyArray<string> => {
  try {
    return database
      .prepare("SELECT path FROM roots")
      .all()
      .flatMap(({ path }) => (typeof path === "string" ? [path] : []))
  } catch {
    return []
  }
}

/** Makes the tables that are missing and adds the roots. Answers whether the full-text index exists. */
export const create = (database: DatabaseSync, roots: ReadonlyArray<string>): boolean => {
  database.exec(`
    CREATE TABLE IF NOT EXISTS roots (path TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS settled (id INTEGER PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS files (
      id INTEGER PRIMARY KEY, dir TEXT NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL, mtime REAL NOT NULL,
      UNIQUE (dir, name)
    );
    CREATE TABLE IF NOT EXISTS chunks (
      id INTEGER PRIMARY KEY, file INTEGER NOT NULL, line INTEGER NOT NULL, col INTEGER NOT NULL, text TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS chunks_of_file ON chunks (file);
    PRAGMA user_version = ${schemaVersion};
  `)
  const addRoot = database.prepare("INSERT OR IGNORE INTO roots (path) VALUES (?)")
  for (const root of roots) addRoot.run(root)
  if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'trigrams'").get() !== undefined) return true
  if (database.prepare("SELECT 1 FROM chunks LIMIT 1").get() !== undefined) return false
  return createTrigrams(database)
}

// Merging is left to Files.tidy: by itself FTS5 does it inside a commit, measured at 40 ms and more at a time.
const createTrigrams = (database: DatabaseSync): boolean => {
  try {
    database.exec(`
      CREATE VIRTUAL TABLE trigrams USING fts5
        (text, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');
      INSERT INTO trigrams (trigrams, rank) VALUES ('automerge', 0);
      INSERT INTO trigrams (trigrams, rank) VALUES ('crisismerge', 1000);
    `)
    return true
  } catch {
    return false
  }
}
