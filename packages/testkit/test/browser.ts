/** A real Chromium, where this machine has one. */
import * as identity from "@holdfast/lock/identity"
import { Effect, Schedule } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { type BrowserServer, chromium, type Page } from "playwright-core"
import { within } from "../src/internal/processes.ts"

const names = ["chromium", "google-chrome"]

/** The first on the PATH; nothing is ever downloaded. */
export const executable = (process.env["PATH"] ?? "")
  .split(path.delimiter)
  .flatMap((folder) => names.map((name) => path.join(folder, name)))
  .find((file) => fs.existsSync(file))

/** What a browser writes, it writes into `directory`. */
const launch = async (directory: string): Promise<BrowserServer> => {
  const before = process.env["TMPDIR"]
  process.env["TMPDIR"] = directory
  try {
    return await chromium.launchServer({
      executablePath: executable!,
      args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
      env: { ...process.env, HOME: directory, XDG_CONFIG_HOME: directory, XDG_CACHE_HOME: directory }
    })
  } finally {
    if (before === undefined) delete process.env["TMPDIR"]
    else process.env["TMPDIR"] = before
  }
}

/** Closed; whatever of it is still there after that is ended by its own pid. */
const close = (server: BrowserServer, directory: string) => {
  const there = () => within(directory).filter((one) => identity.state(one.identity) === "alive")
  const gone = Effect.sync(there).pipe(
    Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: (found) => found.length === 0 })
  )
  return Effect.promise(() => server.close()).pipe(
    Effect.andThen(gone),
    Effect.timeoutOrElse({
      duration: "5 seconds",
      orElse: () =>
        Effect.sync(() => there().forEach((one) => identity.signal(one.identity, "SIGKILL"))).pipe(
          Effect.andThen(gone),
          Effect.timeout("5 seconds"),
          Effect.orDie
        )
    })
  )
}

export interface Opened {
  readonly page: Page
  readonly directory: string
}

/** A page of a browser until the scope closes, and a directory of its own for files to open. */
export const open = Effect.gen(function* () {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), "holdfast-browser-"))),
    (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
  )
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => launch(directory)),
    (server) => close(server, directory)
  )
  const browser = yield* Effect.promise(() => chromium.connect(server.wsEndpoint()))
  const page = yield* Effect.promise(() => browser.newPage())
  return { page, directory } satisfies Opened
})
