import { assert, describe, it } from "@effect/vitest"
import { define } from "@holdfast/lifecycle/ServiceSpec"
import { Testkit } from "@holdfast/testkit/Testkit"
import { Context, Effect, Fiber, Layer, Schedule } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { pathToFileURL } from "node:url"
import { clientSays, may } from "./elsewhere.ts"
import { programOf } from "./fixture/programs.ts"
import { end, one, places } from "./people.ts"
import { boots, withKit } from "./withKit.ts"

// Kinds of docs/fault-kinds.md that no other file's tests show.

const jobs = define({ app: "jobs", version: "1.0.0", entry: pathToFileURL(programOf("jobsDaemon")) })

/** A service whose data are in `database`, and whose state is in a directory of its own. */
const over = (database: string) =>
  Effect.gen(function* () {
    const kit = Context.get(yield* Layer.build(Layer.fresh(Testkit.layer(jobs))), Testkit)
    fs.writeFileSync(path.join(kit.paths.directory, "database"), database)
    yield* kit.swarm(1)
    yield* kit.waitFor("it is ready", ({ status }) => status.type === "ready")
    return kit
  })

/** The status of one write: 200 when it was done. */
const write = (kit: Testkit["Service"]) => Effect.map(kit.client.http.post("/jobs"), ({ status }) => status)

const epochsIn = (file: string): ReadonlyArray<number> => {
  const database = new DatabaseSync(file, { timeout: 5000 })
  try {
    return database
      .prepare("SELECT epoch FROM jobs ORDER BY id")
      .all()
      .map(({ epoch }) => Number(epoch))
  } finally {
    database.close()
  }
}

describe.concurrent("two state directories and one database", () => {
  it.live(
    "two services are two owners, and the database accepts the writes of the later one only, however both write",
    () =>
      withKit({}, (scratch) =>
        Effect.gen(function* () {
          const database = path.join(scratch.paths.directory, "shared.db")
          const first = yield* over(database)
          assert.strictEqual(yield* write(first), 200)
          const writing = yield* write(first).pipe(
            Effect.repeat({ schedule: Schedule.spaced("5 millis"), while: (status) => status === 200 }),
            Effect.forkScoped
          )
          yield* scratch.eventually(
            "the first one writes without end",
            () => epochsIn(database).length,
            (count) => count > 10
          )

          const second = yield* over(database)
          assert.strictEqual(yield* write(second), 200)
          assert.strictEqual(yield* Fiber.join(writing), 500, "the first one is refused")
          const statuses = yield* Effect.forEach([first, second, first, second], write)
          assert.deepStrictEqual(statuses, [500, 200, 500, 200])

          // each of them still owns its own directory; started again, the first one is the later one
          yield* first.client.restart()
          assert.deepStrictEqual(yield* Effect.forEach([first, second, first], write), [200, 500, 200])

          const epochs = epochsIn(database)
          assert.deepStrictEqual(
            epochs,
            [...epochs].sort((left, right) => left - right),
            "no epoch writes after a later one"
          )
          assert.deepStrictEqual([...new Set(epochs)], [1, 2, 3])
        })
      ),
    60_000
  )
})

describe.concurrent("a lease database that cannot be used at the start", () => {
  for (const [what, says, harm] of [
    [
      "is of a newer version",
      /newer version/,
      (file) => {
        const newer = new DatabaseSync(file)
        newer.exec("PRAGMA user_version = 99")
        newer.close()
      }
    ],
    ["is locked by another program", /busy|locked/, undefined]
  ] as ReadonlyArray<[string, RegExp, ((file: string) => void) | undefined]>) {
    it.live(`${what}: the start says so, boots nothing and leaves it as it was; with the cause gone it starts`, () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* kit.client.launch()
          yield* kit.client.stop()
          const { lease } = kit.paths
          const good = fs.readFileSync(lease)
          harm?.(lease)
          // read first: a process that closes a file gives up its locks on it
          const bytes = fs.readFileSync(lease)
          const locking = harm === undefined ? new DatabaseSync(lease) : undefined
          locking?.exec("BEGIN EXCLUSIVE")
          const error = yield* Effect.flip(kit.client.launch()).pipe(
            Effect.ensuring(Effect.sync(() => locking?.close()))
          )
          assert.match(error.message, says)
          assert.isNotEmpty(error.action)
          assert.isTrue(bytes.equals(fs.readFileSync(lease)))
          assert.lengthOf(boots(kit), 1)
          if (harm !== undefined) fs.writeFileSync(lease, good)
          yield* kit.client.launch()
          assert.lengthOf(boots(kit), 2)
        })
      )
    )
  }
})

describe.concurrent("a service and its callers' environments", () => {
  it.live.skipIf(!may.becomeNobody)(
    "is one, whatever XDG and TMPDIR say where it is called from (needs setpriv)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const [home] = places(kit, one)
          const other = `${home}/other`
          const environments: ReadonlyArray<Readonly<Record<string, string>>> = [
            { XDG_RUNTIME_DIR: other },
            {},
            { TMPDIR: other },
            { XDG_STATE_HOME: other, XDG_CACHE_HOME: other, XDG_CONFIG_HOME: other, XDG_DATA_HOME: other }
          ]
          const before = yield* kit.otherUser(one)
          const said = yield* Effect.forEach(environments, (env) =>
            clientSays("ensure", "", { before, env: { HOME: home!, ...env } })
          )
          const pids = said.map(({ output, value }) => value?.pid ?? output)
          assert.deepStrictEqual(
            pids,
            pids.map(() => pids[0])
          )
          assert.isFalse(fs.existsSync(other))
          yield* end(kit, pids[0])
        })
      ),
    60_000
  )
})
