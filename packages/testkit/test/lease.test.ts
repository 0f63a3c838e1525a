import { assert, describe, it } from "@effect/vitest"
import * as identity from "@holdfast/lock/identity"
import { type Claim, LeaseStore } from "@holdfast/lock/LeaseStore"
import * as LeaseHeartbeat from "@holdfast/lock/LeaseHeartbeat"
import { ProcessLock } from "@holdfast/lock/ProcessLock"
import * as Wake from "@holdfast/lock/Wake"
import { SuspendClock } from "@holdfast/testkit/SuspendClock"
import { Effect, Fiber, Layer, References, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const scratch = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "lease-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

/** A process that has ended; its identity is of this machine and boot. */
const dead: identity.ProcessIdentity = { ...identity.own(), pid: 4_000_000 }
const living = identity.own()
/** A process whose pid another one has by now. */
const reused: identity.ProcessIdentity = {
  ...living,
  startIdentity: living.startIdentity.replace(/\/\d+\/(?=[^/]*$)/, "/1/")
}
const elsewhere: identity.ProcessIdentity = {
  ...identity.own(),
  startIdentity: identity.own().startIdentity.replace(/^[^/]+/, "another-boot"),
  host: "another-host"
}

const claimant = (instanceID: string, who = living, lockInode: string | null = null) => ({
  instanceID,
  identity: who,
  lockInode
})

/** The same contract for every store. */
const contract = (name: string, store: Layer.Layer<LeaseStore>) =>
  describe(`the lease ${name}`, () => {
    const law = (sentence: string, body: (store: LeaseStore["Service"]) => Effect.Effect<void, unknown>) =>
      it.effect(sentence, () => Effect.flatMap(LeaseStore, body).pipe(Effect.provide(store)))

    law("the first claim is epoch 1, and each one after a dead holder is the next", (lease) =>
      Effect.gen(function* () {
        assert.deepInclude(yield* lease.status, { epoch: 0, live: false, holder: null })
        assert.strictEqual((yield* lease.claim(claimant("a", dead))).epoch, 1)
        assert.strictEqual((yield* lease.claim(claimant("b", dead))).epoch, 2)
        assert.deepInclude((yield* lease.status).holder, { instanceID: "b", pid: dead.pid })
      })
    )

    law("a living holder is refused, also when its lease has expired", (lease) =>
      Effect.gen(function* () {
        yield* lease.claim(claimant("a"))
        yield* TestClock.adjust("8 hours")
        assert.isFalse((yield* lease.status).live)
        const error = yield* Effect.flip(lease.claim(claimant("b")))
        assert.strictEqual(error._tag, "LeaseHeld")
        assert.strictEqual(error.message, `Already running with PID ${process.pid}.`)
      })
    )

    law(
      "whoever holds the lock that the lease was claimed under claims at once, whatever the holder looks like",
      (lease) =>
        Effect.gen(function* () {
          yield* lease.claim(claimant("a", living, "1:2"))
          assert.strictEqual((yield* lease.claim(claimant("b", living, "1:2"))).epoch, 2)
          assert.strictEqual((yield* Effect.flip(lease.claim(claimant("c", living, "1:3"))))._tag, "LeaseHeld")
          assert.strictEqual((yield* Effect.flip(lease.claim(claimant("c", living, null))))._tag, "LeaseHeld")
        })
    )

    law("a holder that nobody can judge is waited for: one lease of an unchanged row by the monotonic clock", (lease) =>
      Effect.gen(function* () {
        const first = yield* lease.claim(claimant("a", elsewhere))
        const waiting = yield* lease.claim(claimant("b")).pipe(Effect.forkChild)
        yield* TestClock.adjust("20 seconds")
        yield* lease.renew(first)
        yield* TestClock.adjust("20 seconds")
        assert.isUndefined(waiting.pollUnsafe(), "the renewal began the wait anew")
        yield* TestClock.adjust("15 seconds")
        assert.strictEqual((yield* Fiber.join(waiting)).epoch, 2)
        assert.strictEqual((yield* Effect.flip(lease.renew(first)))._tag, "ClaimSuperseded")
      })
    )

    law("Lease renewal: an expired-but-identity-matching re-arm succeeds and extends the lease", (lease) =>
      Effect.gen(function* () {
        const claim = yield* lease.claim(claimant("a"))
        yield* TestClock.adjust("1 hour")
        assert.isFalse((yield* lease.status).live)
        yield* lease.renew(claim)
        const status = yield* lease.status
        assert.isTrue(status.live)
        assert.strictEqual(status.holder!.expiresAt - status.holder!.heartbeatAt, 30_000)
        assert.strictEqual(status.epoch, claim.epoch)
      })
    )

    law("Lease renewal: a superseded epoch fails", (lease) =>
      Effect.gen(function* () {
        const old = yield* lease.claim(claimant("a", dead))
        yield* lease.claim(claimant("b"))
        const error = yield* Effect.flip(lease.renew(old))
        assert.deepInclude(error, { _tag: "ClaimSuperseded", ours: 1, stored: 2 })
      })
    )

    law("Lease renewal: a wrong token fails, as do a wrong instance, pid and start identity", (lease) =>
      Effect.gen(function* () {
        const claim = yield* lease.claim(claimant("a"))
        const wrong: ReadonlyArray<Claim> = [
          { ...claim, token: "guessed" },
          { ...claim, instanceID: "b" },
          { ...claim, identity: { ...claim.identity, pid: 2 } },
          { ...claim, identity: { ...claim.identity, startIdentity: "x/y/z" } }
        ]
        for (const other of wrong) assert.strictEqual((yield* Effect.flip(lease.renew(other)))._tag, "ClaimSuperseded")
        yield* lease.renew(claim)
      })
    )

    law("Lease renewal: a released row fails, and the epoch is not handed out again", (lease) =>
      Effect.gen(function* () {
        const claim = yield* lease.claim(claimant("a"))
        yield* lease.release(claim)
        assert.strictEqual((yield* Effect.flip(lease.renew(claim)))._tag, "ClaimSuperseded")
        assert.deepInclude(yield* lease.status, { epoch: 1, live: false, holder: null })
        assert.strictEqual((yield* lease.claim(claimant("b"))).epoch, 2)
      })
    )

    law("a release by somebody who was superseded takes nothing from the successor", (lease) =>
      Effect.gen(function* () {
        const old = yield* lease.claim(claimant("a", dead))
        const next = yield* lease.claim(claimant("b"))
        yield* lease.release(old)
        yield* lease.renew(next)
      })
    )

    law("our own claim moves past an epoch that a fence has accepted", (lease) =>
      Effect.gen(function* () {
        const claim = yield* lease.claim(claimant("a"))
        const moved = yield* lease.advance(claim, 41)
        assert.strictEqual(moved.epoch, 42)
        yield* lease.renew(moved)
        assert.strictEqual((yield* Effect.flip(lease.renew(claim)))._tag, "ClaimSuperseded")
      })
    )
  })

describe("who takes the place of a recorded holder", () => {
  const asked: Array<string> = []
  const probe = (serving: boolean) => (holder: { readonly instanceID: string }) =>
    Effect.sync(() => {
      asked.push(holder.instanceID)
      return serving
    })
  const law = (sentence: string, body: (store: LeaseStore["Service"]) => Effect.Effect<void, unknown>) =>
    it.effect(sentence, () =>
      Effect.suspend(() => {
        asked.length = 0
        return Effect.flatMap(LeaseStore, body)
      }).pipe(Effect.provide(LeaseStore.layerMemory()))
    )

  law("Lock acquisition: a missing lock takes over without probing, as does a released one", (lease) =>
    Effect.gen(function* () {
      const first = yield* lease.claim(claimant("a"), probe(true))
      assert.strictEqual(first.epoch, 1)
      yield* lease.release(first)
      assert.strictEqual((yield* lease.claim(claimant("b"), probe(true))).epoch, 2)
      assert.isEmpty(asked)
    })
  )

  law("Lock acquisition: a dead holder (identity mismatch) takes over without probing", (lease) =>
    Effect.gen(function* () {
      yield* lease.claim(claimant("a", dead), probe(true))
      assert.strictEqual((yield* lease.claim(claimant("b", reused), probe(true))).epoch, 2)
      assert.strictEqual((yield* lease.claim(claimant("c"), probe(true))).epoch, 3)
      assert.isEmpty(asked)
    })
  )

  law("Lock acquisition: a live serving holder keeps the already running error, lock held or not", (lease) =>
    Effect.gen(function* () {
      yield* lease.claim(claimant("a", living, "1:2"))
      yield* TestClock.adjust("1 hour")
      const error = yield* Effect.flip(lease.claim(claimant("b", living, "1:2"), probe(true)))
      assert.strictEqual(error.message, `Already running with PID ${process.pid}.`)
      assert.deepStrictEqual(asked, ["a"])
    })
  )

  law("Lock acquisition: a live deaf holder is taken over, in policy fenced, when its lease is over", (lease) =>
    Effect.gen(function* () {
      yield* lease.claim(claimant("a"))
      const claiming = yield* lease.claim(claimant("b"), probe(false)).pipe(Effect.forkChild)
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(claiming.pollUnsafe(), "its lease is not over")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(claiming)).epoch, 2)
    })
  )

  law("fenced: a deaf holder whose lease is long over is followed after the second probe, not the first", (lease) =>
    Effect.gen(function* () {
      yield* lease.claim(claimant("a"))
      yield* TestClock.adjust("1 hour")
      const claiming = yield* lease.claim(claimant("b"), probe(false)).pipe(Effect.forkChild)
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(asked, ["a"])
      assert.isUndefined(claiming.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(claiming)).epoch, 2)
      assert.deepStrictEqual(asked, ["a", "a"])
    })
  )

  law("fenced: a deaf holder that renews is not followed", (lease) =>
    Effect.gen(function* () {
      const claim = yield* lease.claim(claimant("a"))
      const claiming = yield* lease.claim(claimant("b"), probe(false)).pipe(Effect.forkChild)
      for (let second = 0; second < 60; second += 10) {
        yield* TestClock.adjust("10 seconds")
        yield* lease.renew(claim)
      }
      assert.isUndefined(claiming.pollUnsafe())
    })
  )

  law("strict: a live deaf holder is waited for, whatever its expiry says, and nobody is asked", (lease) =>
    Effect.gen(function* () {
      yield* lease.claim(claimant("a"))
      yield* TestClock.adjust("8 hours")
      assert.strictEqual((yield* Effect.flip(lease.claim(claimant("b"))))._tag, "LeaseHeld")
      assert.isEmpty(asked)
    })
  )
})

contract("in memory", LeaseStore.layerMemory())
contract(
  "in SQLite",
  Layer.unwrap(Effect.map(scratch, (directory) => LeaseStore.layerSqlite(path.join(directory, "lease.db"))))
)

describe("a lease database that is not what it was", () => {
  const withFile = (body: (file: string, lease: LeaseStore["Service"]) => Effect.Effect<void, unknown>) =>
    Effect.gen(function* () {
      const file = path.join(yield* scratch, "lease.db")
      yield* Effect.flatMap(LeaseStore, (lease) => body(file, lease)).pipe(Effect.provide(LeaseStore.layerSqlite(file)))
    }).pipe(Effect.scoped)

  it.effect(
    "deleted, moved or swapped under the owner it is replaced, neither superseded nor unavailable, and the claim can be put back",
    () =>
      withFile((file, lease) =>
        Effect.gen(function* () {
          const claim = yield* lease.claim(claimant("a"))
          const harms = [
            () => fs.rmSync(file),
            () => fs.renameSync(file, `${file}.moved`),
            () => (fs.copyFileSync(file, `${file}.copy`), fs.renameSync(`${file}.copy`, file))
          ]
          for (const harm of harms) {
            harm()
            assert.strictEqual((yield* Effect.flip(lease.renew(claim)))._tag, "LeaseReplaced")
            yield* lease.rewrite(claim)
            yield* lease.renew(claim)
          }
          assert.strictEqual((yield* lease.status).epoch, 1)
        })
      )
  )

  it.effect("put back from an older copy it is replaced; where another was crowned meanwhile, it is superseded", () =>
    withFile((file, lease) =>
      Effect.gen(function* () {
        yield* lease.claim(claimant("a", dead))
        fs.copyFileSync(file, `${file}.old`)
        const claim = yield* lease.claim(claimant("b", dead))
        fs.copyFileSync(`${file}.old`, file) // the same inode with older content
        assert.strictEqual((yield* Effect.flip(lease.renew(claim)))._tag, "LeaseReplaced")
        yield* lease.rewrite(claim)
        yield* lease.renew(claim)
        yield* lease.claim(claimant("c"))
        assert.strictEqual((yield* Effect.flip(lease.renew(claim)))._tag, "ClaimSuperseded")
        assert.strictEqual((yield* Effect.flip(lease.rewrite(claim)))._tag, "ClaimSuperseded")
      })
    )
  )

  it.effect(
    "damaged, of a newer version, locked or a directory it is unavailable, with one line and a thing to do, and usable when the cause goes away",
    () =>
      withFile((file, lease) =>
        Effect.gen(function* () {
          const claim = yield* lease.claim(claimant("a"))
          const good = fs.readFileSync(file)
          const { DatabaseSync } = yield* Effect.promise(() => import("node:sqlite"))
          const cases: ReadonlyArray<readonly [code: string, harm: () => () => void]> = [
            ["corrupt", () => (fs.writeFileSync(file, "garbage".repeat(2000)), () => fs.writeFileSync(file, good))],
            [
              "newer-schema",
              () => {
                fs.rmSync(file)
                const newer = new DatabaseSync(file)
                newer.exec("PRAGMA user_version = 99")
                newer.close()
                return () => fs.writeFileSync(file, good)
              }
            ],
            [
              "busy",
              () => {
                const other = new DatabaseSync(file)
                other.exec("BEGIN EXCLUSIVE")
                return () => other.close()
              }
            ]
          ]
          for (const [code, harm] of cases) {
            const heal = harm()
            // whatever it was taken for first, what is there now is what counts
            const error = yield* lease.renew(claim).pipe(
              Effect.catchTag("LeaseReplaced", () => lease.rewrite(claim)),
              Effect.flip
            )
            assert.strictEqual(error._tag, "LeaseUnavailable", code)
            assert.deepInclude(error, { code, path: file })
            assert.notInclude(error.message, "\n")
            assert.isNotEmpty(error.action)
            heal()
            yield* lease.renew(claim).pipe(Effect.catchTag("LeaseReplaced", () => lease.rewrite(claim)))
          }
        })
      )
  )
})

const beating = Effect.gen(function* () {
  const directory = yield* scratch
  const lines: Array<string> = []
  const store = LeaseStore.layerSqlite(path.join(directory, "lease.db"))
  const context = yield* Layer.build(Layer.merge(store, ProcessLock.layer(path.join(directory, "service.lock"))))
  return yield* Effect.gen(function* () {
    const [lease, lock] = [yield* LeaseStore, yield* ProcessLock]
    const claim = yield* lease.claim({ ...claimant("a", dead), lockInode: yield* lock.inode })
    const heartbeat = yield* LeaseHeartbeat.make({ store: lease, lock, claim, times: LeaseHeartbeat.checkTimes() })
    return { lease, lock, claim, heartbeat, directory, lines }
  }).pipe(Effect.provideContext(context))
})

describe("the heartbeat", () => {
  it("refuses times that cannot work, with one sentence", () => {
    assert.throws(
      () => LeaseHeartbeat.checkTimes({ lease: "30 seconds", renew: "11 seconds" }),
      "renew must be at most a third"
    )
    assert.deepStrictEqual(LeaseHeartbeat.checkTimes(), { leaseMs: 30_000, renewMs: 10_000 })
  })

  it.effect(
    "Heartbeat: an expired-but-ours claim does not stop it; it is renewed at once after a sleep of any length",
    () =>
      Effect.gen(function* () {
        const clock = yield* SuspendClock
        const { heartbeat, lease } = yield* beating
        const lost = yield* heartbeat.lost.pipe(Effect.forkScoped)
        yield* TestClock.adjust("1 second")
        for (const asleep of ["40 seconds", "8 hours", "3 days"] as const) {
          yield* clock.suspend(asleep)
          assert.isFalse(heartbeat.isRecent())
          assert.isFalse((yield* lease.status).live)
          yield* TestClock.adjust("1 second") // one tick, far from the next scheduled renewal
          assert.isTrue((yield* lease.status).live)
          assert.isTrue(heartbeat.isRecent())
        }
        assert.isUndefined(lost.pollUnsafe())
      }).pipe(Effect.scoped, Effect.provide(SuspendClock.layer))
  )

  it.effect("a superseded claim stops the owner, and only that; the reason is told", () =>
    Effect.gen(function* () {
      const { heartbeat, lease } = yield* beating
      const lost = yield* heartbeat.lost.pipe(Effect.forkScoped)
      yield* TestClock.adjust("1 minute")
      assert.isUndefined(lost.pollUnsafe())
      yield* lease.claim(claimant("b"))
      yield* TestClock.adjust("10 seconds")
      const error = yield* Fiber.join(lost)
      assert.strictEqual(error.message, "This service's claim (epoch 1) was superseded by epoch 2.")
      assert.isFalse(yield* heartbeat.recent)
      assert.isFalse(yield* heartbeat.assert)
    }).pipe(Effect.scoped)
  )

  it.effect(
    "a store that cannot be written now is no loss: the owner goes on, and renews within a second of its return",
    () =>
      Effect.gen(function* () {
        const { directory, heartbeat, lease } = yield* beating
        const file = path.join(directory, "lease.db")
        const good = fs.readFileSync(file)
        fs.writeFileSync(file, "garbage".repeat(2000))
        yield* TestClock.adjust("2 minutes")
        assert.isFalse(heartbeat.isRecent())
        assert.isTrue(yield* heartbeat.recent, "it holds the lock and nobody superseded it")
        fs.writeFileSync(file, good)
        yield* TestClock.adjust("1 second")
        assert.isTrue(heartbeat.isRecent())
        assert.isTrue((yield* lease.status).live)
      }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("an owner whose lock file was replaced locks the new one and says so in the lease", () =>
    Effect.gen(function* () {
      const { claim, directory, heartbeat, lock } = yield* beating
      fs.rmSync(path.join(directory, "service.lock"))
      assert.isFalse(yield* lock.stillOurs)
      assert.isTrue(yield* heartbeat.assert)
      assert.isTrue(yield* lock.stillOurs)
      assert.strictEqual(heartbeat.claim().lockInode, yield* lock.inode)
      assert.notStrictEqual(heartbeat.claim().lockInode, claim.lockInode)
      assert.strictEqual(heartbeat.claim().epoch, claim.epoch)
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect(
    "an owner whose lock file another process locked meanwhile asserts nothing, and tries again each second",
    () =>
      Effect.gen(function* () {
        const { directory, heartbeat } = yield* beating
        const file = path.join(directory, "service.lock")
        fs.rmSync(file)
        yield* Effect.gen(function* () {
          assert.isFalse(yield* heartbeat.assert)
          yield* TestClock.adjust("30 seconds")
          assert.isFalse(yield* heartbeat.assert)
        }).pipe(Effect.provide(Layer.fresh(ProcessLock.layer(file))))
        yield* TestClock.adjust("1 second")
        assert.isTrue(yield* heartbeat.assert)
      }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )
})

describe("wake", () => {
  const at = (wall: number, monotonic: number): Wake.Reading => ({ wall, monotonic })

  it("sleep, freezing, drift and clocks that are set are told apart", () => {
    const table: ReadonlyArray<readonly [string, Wake.Reading, Wake.Gap | undefined]> = [
      ["a tick on time", at(1000, 1000), undefined],
      ["a busy machine", at(2900, 2900), undefined],
      ["a slewed clock", at(1100, 1000), undefined],
      ["a sleep: the wall clock alone went on", at(41_000, 1200), { kind: "slept", ms: 39_800 }],
      ["frozen: both clocks went on, and the tick is late", at(41_000, 41_000), { kind: "frozen", ms: 40_000 }],
      ["a clock that was set back", at(-3_600_000, 1000), undefined],
      ["a clock that was set forward looks like sleep", at(3_601_000, 1000), { kind: "slept", ms: 3_600_000 }]
    ]
    for (const [what, after, gap] of table) assert.deepStrictEqual(Wake.between(at(0, 0), after), gap, what)
  })

  it.effect("each gap is noticed at the next tick, once", () =>
    Effect.gen(function* () {
      const clock = yield* SuspendClock
      const seen: Array<Wake.Gap> = []
      yield* Wake.gaps.pipe(
        Stream.runForEach((gap) => Effect.sync(() => seen.push(gap))),
        Effect.forkScoped
      )
      yield* TestClock.adjust("10 seconds")
      assert.isEmpty(seen)
      yield* clock.suspend("40 seconds")
      yield* TestClock.adjust("3 seconds")
      yield* clock.suspend("-8 hours")
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(seen, [{ kind: "slept", ms: 40_000 }])
    }).pipe(Effect.scoped, Effect.provide(SuspendClock.layer))
  )
})
