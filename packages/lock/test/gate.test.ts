import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as childProcess from "node:child_process"
import fs from "node:fs"
import * as path from "node:path"
import { enter, type GateOutcome } from "../src/gate.ts"
import * as identity from "../src/identity.ts"
import * as OwnerNote from "../src/OwnerNote.ts"
import { asNobody, hands, inOwnMounts, mayBecomeNobody, mayMount, recordedOn, startedAt, temporary } from "./support.ts"

const attempt = (lock: string, options: Parameters<typeof enter>[1] = {}) => Effect.promise(() => enter(lock, options))
const now = { retryForMs: 0 }

const paths = Effect.map(temporary, (directory) => ({
  directory,
  lock: path.join(directory, "service.lock"),
  note: path.join(directory, "service.owner.json")
}))

/** An explanation for a person, and something to do about it. */
const explained = (outcome: GateOutcome, code: string) => {
  assert.deepInclude(outcome, { _tag: "Failed", code })
  if (outcome._tag !== "Failed") return
  assert.match(outcome.message, /^Cannot lock \/[^\n]*: [^\n]*\.$/)
  assert.match(outcome.action, /^[A-Z][^\n]*\.$/)
}

describe("taking the lock", () => {
  it.live("creates the file private to us whatever the umask, and leaves it in place", () =>
    Effect.gen(function* () {
      const { lock } = yield* paths
      const umask = process.umask(0)
      try {
        const outcome = yield* attempt(lock)
        assert.strictEqual(outcome._tag, "Acquired")
        if (outcome._tag === "Acquired") assert.strictEqual(outcome.lock.path, lock)
      } finally {
        process.umask(umask)
      }
      assert.strictEqual(fs.statSync(lock).mode & 0o777, 0o600)
      assert.strictEqual(fs.readFileSync(lock, "utf8"), "", "nothing is written into it")
    })
  )

  it.live("an existing lock file is used as it is: another mode, and text in it", () =>
    Effect.gen(function* () {
      const { lock } = yield* paths
      fs.writeFileSync(lock, "by hand", { mode: 0o640 })
      assert.strictEqual((yield* attempt(lock))._tag, "Acquired")
      assert.strictEqual(fs.readFileSync(lock, "utf8"), "by hand")
      assert.strictEqual(fs.statSync(lock).mode & 0o777, 0o640)
    })
  )

  it.live("a refusal is repeated as long as it was told to, and no longer", () =>
    Effect.gen(function* () {
      const { lock } = yield* paths
      yield* attempt(lock)
      const before = performance.now()
      assert.deepStrictEqual(yield* attempt(lock, { retryForMs: 200 }), { _tag: "Held", path: lock, holder: undefined })
      const took = performance.now() - before
      assert.isTrue(took >= 200 && took < 1500, `${took} ms`)
    })
  )

  it.live("a contender that waits gets the lock of a holder that dies meanwhile", () =>
    Effect.gen(function* () {
      const { lock } = yield* paths
      const holder = yield* hands()
      assert.strictEqual((yield* holder.call("gate", "enter", lock))._tag, "Acquired")
      const waiting = enter(lock, { retryForMs: 10_000 }) // its first attempt is refused before it returns to us
      yield* holder.signal("SIGKILL")
      assert.strictEqual((yield* Effect.promise(() => waiting))._tag, "Acquired")
    })
  )

  it.live("of ten contenders in as many processes exactly one gets it", () =>
    Effect.gen(function* () {
      const { lock } = yield* paths
      const members = yield* Effect.forEach(Array.from({ length: 10 }), () => hands(), { concurrency: 5 })
      const outcomes = yield* Effect.forEach(members, (one) => one.call("gate", "enter", lock, now), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag).sort(), [
        "Acquired",
        ...Array.from({ length: 9 }, () => "Held")
      ])
    })
  )

  it.live("a file that is replaced between open and lock is not mistaken for the one at the path", () =>
    Effect.gen(function* () {
      const { lock } = yield* paths
      let replaced = 0
      const open = fs.openSync
      const spy = vi.spyOn(fs, "openSync").mockImplementation((...args: Parameters<typeof open>) => {
        const descriptor = open(...args)
        if (replaced++ === 0) fs.renameSync(lock, `${lock}.old`)
        return descriptor
      })
      const outcome = yield* attempt(lock).pipe(Effect.ensuring(Effect.sync(() => spy.mockRestore())))
      assert.strictEqual(outcome._tag, "Acquired")
      assert.isAbove(replaced, 1)
      assert.strictEqual((yield* attempt(lock, now))._tag, "Held", "it is the file now at the path that is locked")
      assert.strictEqual((yield* attempt(`${lock}.old`, now))._tag, "Acquired", "and no longer the other")
    })
  )

  it.live("a lock file that is deleted again and again is an error, not an endless loop", () =>
    Effect.gen(function* () {
      const { lock } = yield* paths
      const open = fs.openSync
      const spy = vi.spyOn(fs, "openSync").mockImplementation((...args: Parameters<typeof open>) => {
        const descriptor = open(...args)
        fs.rmSync(lock, { force: true })
        return descriptor
      })
      const outcome = yield* attempt(lock).pipe(Effect.ensuring(Effect.sync(() => spy.mockRestore())))
      assert.deepInclude(outcome, { _tag: "Failed", code: "EREPLACED" })
    })
  )
})

describe("a lock that cannot be taken for another reason than a holder is an error with an action", () => {
  it.live.each<[string, string, (directory: string) => string]>([
    ["a missing directory", "ENOENT", (directory) => path.join(directory, "absent", "service.lock")],
    ["a directory at its path", "EISDIR", (directory) => directory],
    [
      "a file as its directory",
      "ENOTDIR",
      (directory) => (fs.writeFileSync(path.join(directory, "file"), ""), path.join(directory, "file", "service.lock"))
    ],
    ["a name too long", "ENAMETOOLONG", (directory) => path.join(directory, "x".repeat(300))],
    [
      "a circle of links",
      "ELOOP",
      (directory) => (
        fs.symlinkSync("service.lock", path.join(directory, "service.lock")),
        path.join(directory, "service.lock")
      )
    ]
  ])("%s", ([, code, prepare]) =>
    Effect.gen(function* () {
      explained(yield* attempt(prepare(yield* temporary)), code)
    })
  )

  const forbidden: ReadonlyArray<[string, (directory: string, lock: string) => void]> = [
    [
      "a lock file we may not open",
      (directory, lock) => (fs.writeFileSync(lock, "", { mode: 0o600 }), fs.chmodSync(directory, 0o755))
    ],
    ["a directory we may not write to", (directory) => fs.chmodSync(directory, 0o755)],
    ["a directory we may not enter", (directory) => fs.chmodSync(directory, 0o700)]
  ]
  for (const [name, prepare] of forbidden) {
    it.live.skipIf(!mayBecomeNobody)(`${name} (needs setpriv)`, () =>
      Effect.gen(function* () {
        const { directory, lock } = yield* paths
        prepare(directory, lock)
        const nobody = yield* hands({ before: asNobody })
        explained(yield* nobody.call("gate", "enter", lock), "EACCES")
      })
    )
  }

  it.live.skipIf(!mayMount)("a read-only file system (needs mount)", () =>
    Effect.gen(function* () {
      const { directory, lock } = yield* paths
      const one = yield* hands({ before: inOwnMounts(`mount -t tmpfs -o ro none ${directory}`) })
      explained(yield* one.call("gate", "enter", lock), "EROFS")
    })
  )

  it.live.skipIf(!mayMount)("a full disk (needs mount)", () =>
    Effect.gen(function* () {
      const { directory, lock } = yield* paths
      const one = yield* hands({ before: inOwnMounts(`mount -t tmpfs -o nr_inodes=1 none ${directory}`) })
      explained(yield* one.call("gate", "enter", lock), "ENOSPC")
    })
  )
})

describe("the owner's note", () => {
  /** A note about a running process that does not hold the lock, which is how it shows whom the gate asked. */
  const noted = (change: (note: OwnerNote.OwnerNote) => unknown = (note) => note) =>
    Effect.gen(function* () {
      const found = yield* paths
      const other = yield* hands()
      fs.writeFileSync(found.lock, "", { mode: 0o600 })
      const written: OwnerNote.OwnerNote = {
        schema: 1,
        ...identity.ofPid(other.pid)!,
        instanceID: "the-instance",
        lockInode: OwnerNote.inodeOf(found.lock)!,
        startedAt: Date.now()
      }
      fs.writeFileSync(found.note, JSON.stringify(change(written)))
      return { ...found, other, written }
    })

  it.live("of a running process is believed, at once and without touching the lock", () =>
    Effect.gen(function* () {
      const { lock, note, written } = yield* noted()
      const spy = vi.spyOn(fs, "openSync")
      const before = performance.now()
      const outcome = yield* attempt(lock, { note })
      const opened = spy.mock.calls.map(([opened]) => opened)
      spy.mockRestore()
      assert.deepStrictEqual(outcome, { _tag: "Held", path: lock, holder: written })
      assert.isBelow(performance.now() - before, 500)
      assert.notInclude(opened, lock)
      assert.strictEqual((yield* attempt(lock, now))._tag, "Acquired", "the lock itself was free")
    })
  )

  it.live("of a dead process is not believed", () =>
    Effect.gen(function* () {
      const { lock, note, other } = yield* noted()
      yield* other.signal("SIGKILL")
      yield* other.ended
      assert.strictEqual((yield* attempt(lock, { note }))._tag, "Acquired")
    })
  )

  it.live.each<[string, (note: OwnerNote.OwnerNote) => unknown]>([
    ["for another lock file", (note) => ({ ...note, lockInode: "1:1" })],
    ["for no lock file", (note) => ({ ...note, lockInode: "" })],
    ["of a reused pid", (note) => startedAt((ticks) => ticks - 1, note)],
    ["of another machine", (note) => recordedOn("elsewhere", note)],
    [
      "of another pid namespace",
      (note) => ({ ...note, startIdentity: note.startIdentity.replace(/\/[^/]+\//, "/1/") })
    ],
    ["without a start time", (note) => ({ ...note, startIdentity: "" })],
    ["of this very process", (note) => ({ ...note, ...identity.own() })],
    ["of a later schema", (note) => ({ ...note, schema: 2 })],
    ["with a field missing", ({ host: _, ...note }) => note],
    ["with a pid that is text", (note) => ({ ...note, pid: String(note.pid) })],
    ["that is no object", () => [1]],
    ["that is null", () => null]
  ])("%s is not believed", ([, change]) =>
    Effect.gen(function* () {
      const { lock, note } = yield* noted(change)
      assert.strictEqual((yield* attempt(lock, { note, ...now }))._tag, "Acquired")
    })
  )

  it.live("that is garbage, a FIFO, a directory or absent is not believed", () =>
    Effect.gen(function* () {
      const { directory, lock } = yield* paths
      const other = yield* hands() // a FIFO that blocks must not block this test
      const garbage = path.join(directory, "garbage")
      fs.writeFileSync(garbage, "{ half")
      const fifo = path.join(directory, "fifo")
      childProcess.execFileSync("mkfifo", [fifo])
      for (const note of [garbage, fifo, directory, path.join(directory, "absent")]) {
        assert.strictEqual(
          (yield* other.call("gate", "enter", `${lock}.${path.basename(note)}`, { note }))._tag,
          "Acquired",
          note
        )
      }
    })
  )

  it.live("names the holder when the lock is refused, and only then", () =>
    Effect.gen(function* () {
      const { lock, note } = yield* paths
      const holder = yield* hands()
      assert.strictEqual((yield* holder.call("gate", "enter", lock))._tag, "Acquired")
      const written = yield* holder.call("OwnerNote", "write", note, { instanceID: "one", lock })
      assert.deepStrictEqual(yield* attempt(lock, { note, ...now }), { _tag: "Held", path: lock, holder: written })
      assert.strictEqual(written.pid, holder.pid)
      assert.strictEqual(written.lockInode, OwnerNote.inodeOf(lock))
      assert.strictEqual(fs.statSync(note).mode & 0o777, 0o600)
    })
  )
})
