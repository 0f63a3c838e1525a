/** What the command line asks of the service: a directory that is indexed, and lines in it. */
import { CommandFailed, toFailure } from "@holdfast/client/ServiceCommand"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import * as ExitCode from "@holdfast/lock/ExitCode"
import * as Effect from "effect/Effect"
import { HttpApiClient } from "effect/http-api"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { realpath, stat } from "node:fs/promises"
import { Api, type Root } from "./api.ts"
import { within } from "./paths.ts"

const failed = (message: string, action: string) => new CommandFailed({ code: ExitCode.unavailable, message, action })

/** The real path of a directory the caller named; anything else is said in one line. */
export const directoryOf = (named: string): Effect.Effect<string, CommandFailed> =>
  Effect.gen(function* () {
    const path = yield* Effect.tryPromise({
      try: () => realpath(named),
      catch: (error) => usage(`Cannot read the directory ${named}: ${wordsFor((error as NodeJS.ErrnoException).code)}.`)
    })
    const found = yield* Effect.promise(() => stat(path))
    return found.isDirectory() ? path : yield* usage(`${named} is not a directory.`)
  })

const usage = (message: string) =>
  new CommandFailed({ code: ExitCode.usage, message, action: "Name a directory with --dir." })

const wordsFor = (code: string | undefined): string =>
  code === "ENOENT" ? "it is not there" : code === "EACCES" ? "permission denied" : (code ?? "unknown error")

/** Starts the service where needed, and answers a client for its API. */
export const connect = Effect.gen(function* () {
  const service = yield* ServiceClient
  yield* service.launch().pipe(Effect.mapError(toFailure))
  return yield* HttpApiClient.makeWith(Api, { httpClient: service.http })
})

type Client = Effect.Success<typeof connect>

/** What went wrong on the way, in the words of whoever knows them; nothing raw reaches the terminal. */
export const spoken = <A, R>(self: Effect.Effect<A, unknown, R>): Effect.Effect<A, CommandFailed, R> =>
  Effect.catch(self, (error) => {
    if (error instanceof CommandFailed) return Effect.fail(error)
    const { action, message } = error as { readonly message?: unknown; readonly action?: unknown }
    return typeof message === "string" && typeof action === "string"
      ? Effect.fail(failed(message, action))
      : Effect.fail(
          failed(
            "The service gave an answer that this version does not understand.",
            "Run `codesearch service restart`."
          )
        )
  })

/** Makes `directory` searchable: names it to the service and waits until it is read, telling how far it is. */
export const indexed = (client: Client, directory: string, tell: (text: string) => void) =>
  Effect.gen(function* () {
    const added = yield* client.add({ payload: { path: directory } })
    const settled = (root: Root) => root.state === "watching" || root.state === "failed"
    const root = settled(added) ? added : yield* wait(client, directory, settled, tell)
    return root.state === "failed"
      ? yield* failed(root.message ?? `${root.path} cannot be read.`, "Name another directory with --dir.")
      : root
  })

const wait = (client: Client, directory: string, settled: (root: Root) => boolean, tell: (text: string) => void) =>
  Effect.flatMap(ServiceClient, (service) =>
    service.follow({ snapshot: client.roots({}), events: client.changes({}) }).pipe(
      Stream.map((item) => {
        if (item._tag === "Snapshot") return item.value
        return item.value.type === "current" ? item.value.roots : item.value.type === "changed" ? [item.value.root] : []
      }),
      Stream.flatMap(Stream.fromIterable),
      Stream.filter((root) => within(root.path, directory)),
      Stream.tap((root) => Effect.sync(() => tell(progressOf(root)))),
      Stream.filter(settled),
      Stream.runHead,
      Effect.map(Option.getOrThrow) // the stream ends for no loss
    )
  )

const progressOf = ({ indexed: done, path, state, total }: Root): string =>
  state === "scanning"
    ? `Listing the files of ${path}…`
    : state === "indexing"
      ? `Indexing ${path}: ${done} of ${total} files…`
      : ""
