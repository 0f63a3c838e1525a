import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import fs from "node:fs"
import * as path from "node:path"
import type { Problem } from "../src/Problem.ts"
import * as StateDirectory from "../src/StateDirectory.ts"
import { asNobody, hands, inOwnMounts, mayBecomeNobody, mayMount, temporary } from "./support.ts"

const root = process.geteuid?.() === 0

const refused = (found: Problem | undefined, code: string) => {
  assert.strictEqual(found?.code, code)
  assert.match(found!.message, /^[A-Z][^\n]*\.$/)
  assert.match(found!.action, /^[A-Z][^\n]*$/)
}

/** Everything below a directory, with kinds, modes and owners: what "nothing was changed" means. */
const snapshot = (directory: string): ReadonlyArray<string> =>
  fs.readdirSync(directory, { recursive: true, encoding: "utf8" }).map((name) => {
    const { gid, mode, uid } = fs.lstatSync(path.join(directory, name))
    return `${name} ${mode.toString(8)} ${uid} ${gid}`
  })

describe("a state directory that is missing", () => {
  it.live("looks fine and is not created by looking", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      assert.isUndefined(StateDirectory.inspect(path.join(directory, "a", "b")))
      assert.deepStrictEqual(snapshot(directory), [])
    })
  )

  it.live("is created with its parents, all private to us whatever the umask", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const umask = process.umask(0)
      assert.isUndefined(StateDirectory.prepare(path.join(directory, "a", "b", "c")))
      process.umask(umask)
      for (const name of ["a", "a/b", "a/b/c"])
        assert.strictEqual(fs.statSync(path.join(directory, name)).mode & 0o777, 0o700, name)
    })
  )

  it.live("is fine when another contender creates it in the same moment", () =>
    Effect.gen(function* () {
      const directory = path.join(yield* temporary, "a", "state")
      const mkdir = fs.mkdirSync
      const spy = vi.spyOn(fs, "mkdirSync").mockImplementation(((...args: [string, fs.MakeDirectoryOptions]) => {
        mkdir(...args) // the other one was faster
        return mkdir(...args)
      }) as never)
      const found = yield* Effect.sync(() => StateDirectory.prepare(directory)).pipe(
        Effect.ensuring(Effect.sync(() => spy.mockRestore()))
      )
      assert.isUndefined(found)
      assert.isTrue(fs.statSync(directory).isDirectory())
    })
  )
})

describe("a state directory that is there", () => {
  it.live.each([0o700, 0o755, 0o750, 0o711])("with mode %o is used as it is", (mode) =>
    Effect.gen(function* () {
      const directory = yield* temporary
      fs.chmodSync(directory, mode)
      assert.isUndefined(StateDirectory.prepare(directory))
      assert.strictEqual(fs.statSync(directory).mode & 0o7777, mode)
    })
  )

  it.live("may be named by a link", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      fs.mkdirSync(path.join(directory, "real"))
      fs.symlinkSync("real", path.join(directory, "link"))
      assert.isUndefined(StateDirectory.prepare(path.join(directory, "link")))
    })
  )
})

describe("what is refused, with one sentence and nothing changed", () => {
  const long = "x".repeat(300)
  const cases: ReadonlyArray<[string, string, (directory: string) => string]> = [
    [
      "a file in its place",
      "ENOTDIR",
      (directory) => (fs.writeFileSync(path.join(directory, "state"), ""), path.join(directory, "state"))
    ],
    [
      "a file above it",
      "ENOTDIR",
      (directory) => (fs.writeFileSync(path.join(directory, "file"), ""), path.join(directory, "file", "state"))
    ],
    ["a device", "ENOTDIR", () => "/dev/null"],
    ["something below a device", "ENOTDIR", () => "/dev/null/state"],
    [
      "a dangling link in its place",
      "EEXIST",
      (directory) => (fs.symlinkSync("nowhere", path.join(directory, "state")), path.join(directory, "state"))
    ],
    [
      "a circle of links",
      "ELOOP",
      (directory) => (fs.symlinkSync("state", path.join(directory, "state")), path.join(directory, "state"))
    ],
    ["a name too long", "ENAMETOOLONG", (directory) => path.join(directory, long)],
    [
      "a name too long below parents that are missing",
      "ENAMETOOLONG",
      (directory) => path.join(directory, "a", "b", long)
    ],
    ["a place others may write to", "EMODE", (directory) => (fs.chmodSync(directory, 0o777), directory)],
    ["a place our group may write to", "EMODE", (directory) => (fs.chmodSync(directory, 0o770), directory)],
    ["a sticky place like /tmp", "EMODE", (directory) => (fs.chmodSync(directory, 0o1777), directory)]
  ]
  it.live.each(cases)("%s (%s)", ([, code, prepare]) =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const state = prepare(directory)
      const before = snapshot(directory)
      refused(StateDirectory.prepare(state), code)
      assert.deepStrictEqual(snapshot(directory), before)
    })
  )

  it.live.skipIf(!root)("another user's, also for root (needs root)", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const state = path.join(directory, "state")
      fs.mkdirSync(state, 0o700)
      fs.chownSync(state, 12345, 12345)
      const before = snapshot(directory)
      for (const found of [StateDirectory.inspect(state), StateDirectory.prepare(state)]) {
        refused(found, "EOWNER")
        assert.include(found!.message, "12345")
      }
      assert.deepStrictEqual(snapshot(directory), before)
    })
  )

  const forbidden: ReadonlyArray<[string, (directory: string) => string]> = [
    [
      "one we may not write to",
      (directory) => (fs.chmodSync(directory, 0o500), fs.chownSync(directory, 12345, 12345), directory)
    ],
    [
      "one we may not enter",
      (directory) => (fs.chmodSync(directory, 0o600), fs.chownSync(directory, 12345, 12345), directory)
    ],
    [
      "one below a directory we may not enter",
      (directory) => (fs.chmodSync(directory, 0o700), path.join(directory, "state"))
    ],
    [
      "one to be made in a directory we may not write to",
      (directory) => (fs.chmodSync(directory, 0o755), path.join(directory, "a", "b"))
    ]
  ]
  for (const [name, prepare] of forbidden) {
    it.live.skipIf(!mayBecomeNobody)(`${name} (needs setpriv)`, () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const state = prepare(directory)
        const before = snapshot(directory)
        const nobody = yield* hands({ before: asNobody })
        refused(yield* nobody.call("StateDirectory", "prepare", state), "EACCES")
        assert.deepStrictEqual(snapshot(directory), before)
      })
    )
  }

  const mounted: ReadonlyArray<[string, string, string, string]> = [
    ["one on a read-only file system", "EROFS", "ro,mode=0700", ""],
    ["one to be made on a read-only file system", "EROFS", "ro,mode=0700", "state"],
    ["one to be made on a full disk", "ENOSPC", "nr_inodes=1,mode=0700", "state"]
  ]
  for (const [name, code, options, below] of mounted) {
    it.live.skipIf(!mayMount)(`${name} (needs mount)`, () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const one = yield* hands({ before: inOwnMounts(`mount -t tmpfs -o ${options} none ${directory}`) })
        refused(yield* one.call("StateDirectory", "prepare", path.join(directory, below)), code)
      })
    )
  }

  it.live.each(["/proc/nope", "/proc/nope/deeper/still", "/sys/nope/deeper", "/dev/fd/nope", "/proc/self/fd/99/x"])(
    "%s, which ends at once",
    (state) =>
      Effect.gen(function* () {
        const one = yield* hands() // were it never to end, only the call would
        const found = yield* one.call("StateDirectory", "prepare", state)
        refused(found, found.code)
        assert.isFalse(fs.existsSync(state))
      })
  )
})
