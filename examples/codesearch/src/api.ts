/**
 * What the code index answers over HTTP. Imported by the service and by every client,
 * so it contains schemas only: no file system, no database.
 */
import * as Schema from "effect/Schema"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"

/** The longest text one can search for, in UTF-16 code units. */
export const longestQuery = 256

/** How many hits a search answers with when it is not told. */
export const defaultLimit = 50

/** An absolute path; whether something is there is checked by the service only. */
export const AbsolutePath = Schema.String.check(
  Schema.makeFilter((path) => /^(\/|\\\\|[A-Za-z]:[\\/])/.test(path) || "an absolute path")
)

/** A part of `Hit.text`: from `start` (counted from 0) up to but not including `end`, in UTF-16 code units. */
export const Span = Schema.Struct({ start: Schema.Int, end: Schema.Int })
export type Span = typeof Span.Type

/**
 * One line that contains the text looked for.
 *
 * `line` and `column` count from 1 and name where the first match begins in the file, `column` in UTF-16
 * code units. `text` is the line without its line end; a long line is cut around the first match to 400
 * units, with "…" in place of what was cut off. `matches` lie in `text`, in order, without overlap, at least one.
 */
export const Hit = Schema.Struct({
  file: Schema.String,
  line: Schema.Int,
  column: Schema.Int,
  text: Schema.String,
  matches: Schema.Array(Span)
})
export type Hit = typeof Hit.Type

/** See {@link Root}. */
export const RootState = Schema.Literals(["scanning", "indexing", "watching", "failed"])
export type RootState = typeof RootState.Type

/**
 * A directory whose files can be searched.
 *
 * `total` counts the files that the rules let through, `indexed` those among them that are up to date;
 * binary files count, though they have no text. `scanning`: the files are being listed. `indexing`: changed
 * ones are being read. `watching`: all read, changes are followed. `failed`: `message` says why, and it is
 * tried again by itself. In state `watching` a `message` says that changes are found more slowly, and why.
 */
export const Root = Schema.Struct({
  path: Schema.String,
  indexed: Schema.Int,
  total: Schema.Int,
  state: RootState,
  message: Schema.optionalKey(Schema.String)
})
export type Root = typeof Root.Type

/** What `/roots/events` sends: all roots once, first; then every change of one. */
export const RootsEvent = Schema.Union([
  Schema.Struct({ type: Schema.tag("current"), roots: Schema.Array(Root) }),
  Schema.Struct({ type: Schema.tag("changed"), root: Root }),
  Schema.Struct({ type: Schema.tag("removed"), path: Schema.String })
])
export type RootsEvent = typeof RootsEvent.Type

/** The named directory cannot become a root. Nothing was changed. */
export class RootRefused extends Schema.TaggedError<RootRefused>()(
  "RootRefused",
  { path: Schema.String, message: Schema.String, action: Schema.String },
  { httpApiStatus: 422 }
) {}

/** The named directory is not a root (it may lie inside one). Nothing was changed. */
export class RootUnknown extends Schema.TaggedError<RootUnknown>()(
  "RootUnknown",
  { path: Schema.String, message: Schema.String, action: Schema.String },
  { httpApiStatus: 404 }
) {}

/** The index could not be read or written (a full disk, a damaged file). The service goes on. */
export class IndexFailed extends Schema.TaggedError<IndexFailed>()(
  "IndexFailed",
  { message: Schema.String, action: Schema.String },
  { httpApiStatus: 500 }
) {}

const RootPath = Schema.Struct({ path: Schema.String })

/**
 * `search`: lines containing `q` literally, whatever the case, in the order of their files and lines, inside
 * `dir` if given. A `dir` outside every root answers no hits. `roots`: all of them, by path. `changes`: see
 * {@link RootsEvent}; never silent at first, never ends by itself. `add`: answers at once, before anything is
 * read; for a directory inside a known root it answers that root. `remove`: answers the root that was removed.
 */
export const Api = HttpApi.make("codesearch").add(
  HttpApiGroup.make("index", { topLevel: true }).add(
    HttpApiEndpoint.get("search", "/search", {
      query: {
        q: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(longestQuery)),
        dir: Schema.optionalKey(AbsolutePath),
        limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 })))
      },
      success: Schema.Array(Hit),
      error: IndexFailed
    }),
    HttpApiEndpoint.get("roots", "/roots", { success: Schema.Array(Root) }),
    HttpApiEndpoint.get("changes", "/roots/events", { success: HttpApiSchema.StreamSse({ data: RootsEvent }) }),
    HttpApiEndpoint.post("add", "/roots", { payload: RootPath, success: Root, error: [RootRefused, IndexFailed] }),
    HttpApiEndpoint.post("remove", "/roots/remove", {
      payload: RootPath,
      success: Root,
      error: [RootUnknown, IndexFailed]
    })
  )
)
