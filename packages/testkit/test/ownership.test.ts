import { assert, describe, it } from "@effect/vitest"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import { Fence } from "@holdfast/lock/Fence"
import { LeaseStore } from "@holdfast/lock/LeaseStore"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import { Ownership } from "@holdfast/lock/Ownership"
import { ProcessLock } from "@holdfast/lock/ProcessLock"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Layer, Schedule } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { boots, isReady, withKit } from "./withKit.ts"

const status = (kit: Testkit["Service"]) =>
  Effect.flatMap(LeaseStore, (lease) => lease.status).pipe(
    Effect.provide(Layer.fresh(LeaseStore.layerSqlite(kit.paths.lease)))
  )

const pidIn = (file: string): number | undefined =>
  fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, "utf8")) as { readonly pid: number }).pid : undefined

/** The row as it stands, without the store's rules. */
const leaseOf = (kit: Testkit["Service"]) => {
  if (!fs.existsSync(kit.paths.lease)) return undefined
  const database = new DatabaseSync(kit.paths.lease, { readOnly: true, timeout: 2000 })
  try {
    const row = database.prepare("SELECT holder FROM lease").get() as { readonly holder: string } | undefined
    return row === undefined
      ? undefined
      : (JSON.parse(row.holder) as {
          readonly pid: number
          readonly lockInode: string
          readonly expiresAt: number
        } | null)
  } finally {
    database.close()
  }
}

const threeEnsure = (kit: Testkit["Service"]) =>
  Effect.forEach(
    [1, 2, 3],
    () =>
      Effect.flatMap(ServiceClient, (client) => client.ensure({ deadline: "20 seconds" })).pipe(
        Effect.provide(Layer.fresh(ServiceClient.layer(kit.spec)))
      ),
    { concurrency: "unbounded" }
  )

describe.concurrent("ownership of a running service", () => {
  it.live(
    "A 30-second application boot remains continuously observable as starting",
    () =>
      withKit({ bootMs: 30_000 }, (kit) =>
        Effect.gen(function* () {
          yield* kit.swarm(1)
          yield* kit.waitFor("it is starting", (state) => state.status.type === "starting")
          const answers: Array<string> = []
          yield* kit.client.state.pipe(
            Effect.tap(({ status }) => Effect.sync(() => answers.push(status.type))),
            Effect.repeat({
              schedule: Schedule.spaced("100 millis"),
              until: ({ status }) => status.type === "ready"
            }),
            Effect.timeout("45 seconds")
          )
          assert.deepStrictEqual([...new Set(answers)], ["starting", "ready"])
          assert.isAbove(answers.length, 100)
          assert.lengthOf(boots(kit), 1)
        })
      ),
    90_000
  )

  it.live("each owner has the next epoch, and a stopped one gives its claim up", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        for (const epoch of [1, 2, 3]) {
          const ready = yield* kit.client.ensure()
          const lease = yield* status(kit)
          assert.deepInclude(lease, { epoch, live: true })
          assert.deepInclude(lease.holder, { pid: ready.pid, instanceID: ready.instanceID })
          yield* kit.client.stop()
          assert.deepInclude(yield* status(kit), { epoch, live: false, holder: null })
        }
      })
    )
  )

  for (const [what, harm] of [
    ["the lock file is deleted", (kit) => fs.rmSync(kit.paths.lock)],
    [
      "the lock file is moved away and made again",
      (kit) => (fs.renameSync(kit.paths.lock, `${kit.paths.lock}.old`), fs.writeFileSync(kit.paths.lock, ""))
    ],
    ["the lease is deleted", (kit) => fs.rmSync(kit.paths.lease)],
    [
      "the whole directory is emptied",
      (kit) =>
        fs
          .readdirSync(kit.paths.directory)
          .filter((name) => name.startsWith("service"))
          .forEach((name) => fs.rmSync(path.join(kit.paths.directory, name)))
    ]
  ] as ReadonlyArray<readonly [string, (kit: Testkit["Service"]) => unknown]>) {
    it.live(
      `${what} under a live owner, then three ensure at once: within two assertion intervals one process, everything healed`,
      () =>
        withKit({}, (kit) =>
          Effect.gen(function* () {
            const first = yield* kit.client.launch()
            harm(kit)
            const found = yield* threeEnsure(kit)
            // one assertion interval for the owner to notice, one for whoever slipped in to be ended
            const settled = yield* kit.eventually(
              "one owner: registered, with the lock that is there now, its note, its lease and the secret",
              () => ({
                daemons: kit
                  .processes()
                  .filter(({ command }) => /daemon\.(ts|mjs)/.test(command))
                  .map(({ pid }) => pid),
                registration: pidIn(kit.paths.registration),
                note: OwnerNote.living(kit.paths.owner, kit.paths.lock)?.pid,
                lease: leaseOf(kit)?.pid,
                lock: leaseOf(kit)?.lockInode === OwnerNote.inodeOf(kit.paths.lock),
                secret: fs.existsSync(kit.paths.secret)
              }),
              ({ daemons: [only, ...others], lease, lock, note, registration, secret }) =>
                others.length === 0 && [registration, note, lease].every((pid) => pid === only) && lock && secret,
              { within: "12 seconds" }
            )
            assert.strictEqual((yield* kit.client.ensure()).pid, settled.daemons[0])
            assert.include([first.pid, ...found.map(({ pid }) => pid)], settled.daemons[0])
          })
        )
    )
  }

  it.live(
    "the lock file is deleted and everything frozen longer than the lease; a contender comes first: the healthy owner keeps its place",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* kit.client.launch()
          const owner = yield* kit.owner
          yield* owner.freeze
          fs.rmSync(kit.paths.lock)
          // as if it had been frozen for an hour: its lease is over, by a clock that only the store shows
          const database = new DatabaseSync(kit.paths.lease)
          const { holder } = database.prepare("SELECT holder FROM lease").get() as { readonly holder: string }
          const expired = { ...JSON.parse(holder), expiresAt: 1, heartbeatAt: 1 }
          database.prepare("UPDATE lease SET holder = ?").get(JSON.stringify(expired))
          database.close()
          const [contender] = yield* kit.swarm(1)
          assert.deepStrictEqual(yield* contender!.exited, { code: 0 })
          yield* owner.thaw
          assert.strictEqual((yield* isReady(kit)).registration?.pid, owner.pid)
          assert.deepStrictEqual(boots(kit), [owner.pid])
          yield* kit.eventually(
            "the owner holds the new lock file",
            () => OwnerNote.living(kit.paths.owner, kit.paths.lock)?.pid,
            (pid) => pid === owner.pid
          )
        })
      )
  )

  it.live(
    "Heartbeat: a superseded claim stops the server and logs the supersession reason; it asserts and removes nothing any more",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* kit.client.launch()
          const owner = yield* kit.owner
          yield* owner.freeze
          yield* kit.eventually(
            "its lease is over",
            () => leaseOf(kit)!.expiresAt,
            (expiresAt) => Date.now() > expiresAt,
            { within: "40 seconds" }
          )
          // the successor's row, as another machine or policy would have written it
          const database = new DatabaseSync(kit.paths.lease)
          const { holder } = database.prepare("SELECT holder FROM lease").get() as { readonly holder: string }
          database
            .prepare("UPDATE lease SET epoch = 2, holder = ?")
            .get(JSON.stringify({ ...JSON.parse(holder), instanceID: "successor", pid: process.pid }))
          database.close()
          const record = JSON.stringify({
            schema: 1,
            instanceID: "successor",
            version: "1.0.0",
            url: "http://127.0.0.1:9",
            pid: process.pid
          })
          fs.writeFileSync(kit.paths.registration, record)
          yield* owner.thaw
          assert.deepStrictEqual(yield* owner.exited, { code: null })
          assert.strictEqual(fs.readFileSync(kit.paths.registration, "utf8"), record)
          assert.include(
            fs.readFileSync(kit.paths.log, "utf8"),
            "claim superseded: This service's claim (epoch 1) was superseded by epoch 2."
          )
          assert.strictEqual((yield* status(kit)).epoch, 2)
        })
      ),
    60_000
  )
})

describe("ownership after a crash", () => {
  it.live(
    "after a crash, whatever was recorded (a reused pid, another boot, a clock set back, another pid namespace): a new owner within a second of the lock being free",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const changes: ReadonlyArray<(holder: Record<string, unknown>) => Record<string, unknown>> = [
            (holder) => ({ ...holder, pid: process.pid }),
            (holder) => ({
              ...holder,
              startIdentity: String(holder["startIdentity"]).replace(/^[^/]+/, "another-boot")
            }),
            (holder) => ({
              ...holder,
              heartbeatAt: Date.now() + 8 * 3_600_000,
              expiresAt: Date.now() + 8 * 3_600_000 + 30_000
            }),
            (holder) => ({
              ...holder,
              startIdentity: String(holder["startIdentity"]).replace(/\/[^/]+\//, "/4026500000/")
            }),
            (holder) => ({ ...holder, host: "a-container-that-is-gone" })
          ]
          for (const change of changes) {
            yield* kit.client.ensure()
            const owner = yield* kit.owner
            yield* owner.kill
            yield* owner.exited
            const database = new DatabaseSync(kit.paths.lease)
            const { holder } = database.prepare("SELECT holder FROM lease").get() as { readonly holder: string }
            database.prepare("UPDATE lease SET holder = ?").get(JSON.stringify(change(JSON.parse(holder))))
            database.close()
            const [successor] = yield* kit.swarm(1)
            yield* kit.eventually(
              "the successor is registered",
              () => kit.steps(successor!),
              (steps) => steps.includes("after-register"),
              { within: "1 second" }
            )
            assert.strictEqual((yield* isReady(kit)).registration?.pid, successor!.pid)
          }
        })
      )
  )
})

describe("the fence", () => {
  const place = Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "fence-"))),
    (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
  )
  const owning = (directory: string) =>
    Ownership.layer().pipe(Layer.provide(ProcessLock.layer(path.join(directory, "service.lock"))), Layer.fresh)
  const openIn = (directory: string) => {
    const database = new DatabaseSync(path.join(directory, "app.db"))
    database.exec("CREATE TABLE IF NOT EXISTS log (epoch INTEGER)")
    return database
  }

  it.live("a write by an owner of the past is refused in its own transaction, and nothing of it is done", () =>
    Effect.gen(function* () {
      const directory = yield* place
      const [ours, theirs] = [openIn(directory), openIn(directory)]
      yield* Effect.gen(function* () {
        const fence = yield* Fence
        yield* fence.write(() => ours.exec("INSERT INTO log VALUES (1)"))
        theirs.exec("UPDATE holdfast_fence SET epoch = 2") // a successor raised it while we were frozen
        const error = yield* Effect.flip(fence.write(() => ours.exec("INSERT INTO log VALUES (1)")))
        assert.deepInclude(error, { _tag: "StaleEpoch", ours: 1, stored: 2 })
        assert.strictEqual(ours.prepare("SELECT count(*) AS n FROM log").get()?.["n"], 1)
      }).pipe(Effect.provide(Fence.layer(ours).pipe(Layer.provide(owning(directory)))))
      ours.close()
      theirs.close()
    }).pipe(Effect.scoped)
  )

  it.live("a body that throws writes nothing, and the next write goes through", () =>
    Effect.gen(function* () {
      const directory = yield* place
      const database = openIn(directory)
      yield* Effect.gen(function* () {
        const fence = yield* Fence
        const exit = yield* Effect.exit(
          fence.write(() => {
            database.exec("INSERT INTO log VALUES (1)")
            throw new Error("no")
          })
        )
        assert.strictEqual(exit._tag, "Failure")
        yield* fence.write(() => database.exec("INSERT INTO log VALUES (2)"))
        assert.deepStrictEqual({ ...database.prepare("SELECT epoch FROM log").get() }, { epoch: 2 })
      }).pipe(Effect.provide(Fence.layer(database).pipe(Layer.provide(owning(directory)))))
      database.close()
    }).pipe(Effect.scoped)
  )

  it.live(
    "epochs a fence accepts never go down: an owner with a recreated lease moves past what the fence has seen",
    () =>
      Effect.gen(function* () {
        const directory = yield* place
        const database = openIn(directory)
        const accepted: Array<number> = []
        for (const recreate of [false, false, true, false, true]) {
          if (recreate) fs.rmSync(path.join(directory, "service.lease.db"))
          yield* Effect.gen(function* () {
            const [fence, ownership] = [yield* Fence, yield* Ownership]
            yield* fence.write(() => void accepted.push(ownership.epoch))
          }).pipe(Effect.provide(Fence.layer(database).pipe(Layer.provideMerge(owning(directory)))))
        }
        assert.deepStrictEqual(accepted, [1, 2, 3, 4, 5])
        database.close()
      }).pipe(Effect.scoped)
  )
})
