import { basename, dirname } from "node:path"
import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { Chunk } from "./Chunk.ts"
import { above, below } from "./paths.ts"
import type { Store } from "./Store.ts"

/** A file as the index knows it. `mtime` in ms since 1970 with fractions; -1 while its text is incomplete. */
export interface Known {
  readonly id: number
  readonly dir: string
  readonly name: string
  readonly size: number
  readonly mtime: number
}

/** A file as it is on the disk; `mtime` as in {@link Known}. */
export type Found = Omit<Known, "id">

/** A chunk with the file it belongs to. */
export interface Text extends Chunk {
  readonly dir: string
  readonly name: string
}

/** Where a reader of many rows is: after this file. */
export type Place = Pick<Found, "dir" | "name">

/**
 * The statements of the index, each synchronous and short. Those that change something (`start`, `append`,
 * `finish`, `drop`, `tidy`, `addRoot`, `dropRoot`) belong inside `Store.write`; none opens a transaction itself.
 */
export interface Files {
  readonly roots: () => ReadonlyArray<string>
  readonly addRoot: (path: string) => void
  readonly dropRoot: (path: string) => void
  /** Begins a file anew: its old text is gone, its row is incomplete until `finish`. Answers its id. */
  readonly start: (file: Found) => number
  readonly append: (id: number, chunk: Chunk) => void
  readonly finish: (id: number, file: Found) => void
  readonly drop: (ids: ReadonlyArray<number>) => void
  /** A bounded step (about 64 pages) of merging what the last transactions wrote to the full-text index. */
  readonly tidy: () => void
  /** The files in and below a directory, in order, after `place`, at most `limit`. */
  readonly list: (top: string, place: Place | undefined, limit: number) => ReadonlyArray<Known>
  /** The id of one file, if the index knows it. */
  readonly find: (file: Place) => ReadonlyArray<number>
  /** At most `limit` ids: of the file at this path, or of those in and below it. */
  readonly at: (path: string, limit: number) => ReadonlyArray<number>
  readonly count: (top: string) => number
  /** The first directory after this one that has files in the index. */
  readonly nextDirectory: (after: string) => string | undefined
  /** The texts that can contain a full-text expression, in order; `undefined` if there are more than `limit`. */
  readonly candidates: (expression: string, limit: number) => ReadonlyArray<number> | undefined
  readonly texts: (ids: ReadonlyArray<number>) => ReadonlyArray<Text>
  readonly textsOf: (file: number) => ReadonlyArray<Chunk>
}

/** Prepares the statements of {@link Files} on an open store. */
export const make = (store: Store): Files => {
  const { database, trigrams } = store
  const sql = (text: string): StatementSync => database.prepare(text)
  const roots = sql("SELECT path FROM roots ORDER BY path")
  const addRoot = sql("INSERT OR IGNORE INTO roots (path) VALUES (?)")
  const dropRoot = sql("DELETE FROM roots WHERE path = ?")
  const upsert = sql(`INSERT INTO files (dir, name, size, mtime) VALUES (?, ?, 0, -1)
    ON CONFLICT (dir, name) DO UPDATE SET size = 0, mtime = -1 RETURNING id`)
  const stamp = sql("UPDATE files SET size = ?, mtime = ? WHERE id = ?")
  const dropFile = sql("DELETE FROM files WHERE id = ?")
  const addText = sql("INSERT INTO chunks (file, line, col, text) VALUES (?, ?, ?, ?)")
  const chunksOf = sql("SELECT id FROM chunks WHERE file = ?")
  const dropTexts = sql("DELETE FROM chunks WHERE file = ?")
  const columns = "SELECT id, dir, name, size, mtime FROM files"
  const inside = sql(`${columns} WHERE dir = ? AND name > ? ORDER BY name LIMIT ?`)
  const beneath = sql(`${columns} WHERE (dir, name) > (?, ?) AND dir < ? ORDER BY dir, name LIMIT ?`)
  const one = sql("SELECT id FROM files WHERE dir = ? AND name = ?")
  const countInside = sql("SELECT count(*) AS n FROM files WHERE dir = ?")
  const countBeneath = sql("SELECT count(*) AS n FROM files WHERE dir > ? AND dir < ?")
  const next = sql("SELECT dir FROM files WHERE dir > ? ORDER BY dir LIMIT 1")
  const textsOf = sql("SELECT line, col AS column, text FROM chunks WHERE file = ? ORDER BY id")
  const text = sql(`SELECT dir, name, line, col AS column, text FROM chunks JOIN files ON files.id = file
    WHERE chunks.id = ?`)
  const settle = sql("INSERT OR REPLACE INTO settled (id) VALUES (1)")
  const index = trigrams ? indexStatements(database) : undefined

  const clear = (id: number) => {
    const chunks = index === undefined ? [] : rows<{ id: number }>(chunksOf, id)
    for (const chunk of chunks) index?.drop.run(chunk.id)
    if (chunks.length > 0) settle.run()
    dropTexts.run(id)
  }
  const list: Files["list"] = (top, place, limit) => {
    const from = place ?? { dir: top, name: "" }
    const direct = from.dir === top ? rows<Known>(inside, top, from.name, limit) : []
    if (direct.length === limit) return direct
    const [dir, name] = from.dir === top ? [below(top), ""] : [from.dir, from.name]
    return [...direct, ...rows<Known>(beneath, dir, name, above(top), limit - direct.length)]
  }
  const find: Files["find"] = ({ dir, name }) => rows<{ id: number }>(one, dir, name).map(({ id }) => id)
  return {
    roots: () => rows<{ path: string }>(roots).map(({ path }) => path),
    addRoot: (path) => void addRoot.run(path),
    dropRoot: (path) => void dropRoot.run(path),
    start: ({ dir, name }) => {
      const [{ id }] = rows<{ id: number }>(upsert, dir, name) as [{ id: number }]
      clear(id)
      return id
    },
    append: (id, chunk) => {
      const { lastInsertRowid } = addText.run(id, chunk.line, chunk.column, chunk.text)
      index?.add.run(lastInsertRowid, chunk.text)
    },
    finish: (id, { mtime, size }) => void stamp.run(size, mtime, id),
    drop: (ids) => {
      for (const id of ids) {
        clear(id)
        dropFile.run(id)
      }
    },
    tidy: () => {
      index?.merge.run(64)
      settle.run()
    },
    list,
    find,
    at: (path, limit) =>
      [
        ...find({ dir: dirname(path), name: basename(path) }),
        ...list(path, undefined, limit).map(({ id }) => id)
      ].slice(0, limit),
    count: (top) =>
      rows<{ n: number }>(countInside, top)[0]!.n + rows<{ n: number }>(countBeneath, below(top), above(top))[0]!.n,
    nextDirectory: (after) => rows<{ dir: string }>(next, after)[0]?.dir,
    candidates: (expression, limit) => {
      if (index === undefined) return undefined
      const found = rows<{ id: number }>(index.find, expression, limit + 1)
      if (found.length > limit) return undefined
      const ids = JSON.stringify(found.map(({ id }) => id))
      return rows<{ id: number }>(index.order, ids).map(({ id }) => id)
    },
    texts: (ids) => ids.flatMap((id) => rows<Text>(text, id)),
    textsOf: (file) => rows<Chunk>(textsOf, file)
  }
}

// Deleting and merging leave a row id of FTS5's own tables as the last one inserted, too large for a number: Node 26
// throws when the next statement is run (so `settle` follows), unless that reads big integers, as these do.
const indexStatements = (database: DatabaseSync) => {
  const big = (text: string): StatementSync => {
    const statement = database.prepare(text)
    statement.setReadBigInts(true)
    return statement
  }
  return {
    add: big("INSERT INTO trigrams (rowid, text) VALUES (?, ?)"),
    drop: big("DELETE FROM trigrams WHERE rowid = ?"),
    merge: big("INSERT INTO trigrams (trigrams, rank) VALUES ('merge', ?)"),
    find: database.prepare("SELECT rowid AS id FROM trigrams WHERE trigrams MATCH ? LIMIT ?"),
    order: database.prepare(`SELECT chunks.id FROM chunks JOIN files ON files.id = file
      WHERE chunks.id IN (SELECT value FROM json_each(?)) ORDER BY dir, name, chunks.id`)
  }
}

const rows = <A>(statement: StatementSync, ...values: ReadonlyArray<string | number>): ReadonlyArray<A> =>
  statement.all(...values) as unknown as ReadonlyArray<A>
