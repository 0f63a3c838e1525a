import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { choose, type PrimitiveName, type Runtime as Machine } from "../src/internal/primitive.ts"
import { hands, has, lacking, mayMount, type Runtime, runtimes, temporary, thisNode } from "./support.ts"

const machine = (platform: NodeJS.Platform, name: Machine["name"], major = 24, minor = 0): Machine => ({
  platform,
  name,
  version: [major, minor]
})

describe("which primitive is tried, and in which order", () => {
  it.each<[string, Machine, ReadonlyArray<PrimitiveName>]>([
    ["Node 22 on Linux", machine("linux", "node", 22, 19), ["koffi flock(2)", "flock(1)"]],
    [
      "Node 26.8 on Linux, where node:ffi is behind a flag",
      machine("linux", "node", 26, 8),
      ["koffi flock(2)", "flock(1)"]
    ],
    ["Node 26.9 on Linux", machine("linux", "node", 26, 9), ["node:ffi flock(2)", "koffi flock(2)", "flock(1)"]],
    ["Node 27 on Linux", machine("linux", "node", 27, 0), ["node:ffi flock(2)", "koffi flock(2)", "flock(1)"]],
    [
      "Bun on Linux, whatever Node it emulates",
      machine("linux", "bun", 26, 9),
      ["bun:ffi flock(2)", "koffi flock(2)", "flock(1)"]
    ],
    ["Node on macOS", machine("darwin", "node"), ["open(2) O_EXLOCK", "koffi flock(2)"]],
    ["Bun on macOS", machine("darwin", "bun"), ["open(2) O_EXLOCK", "bun:ffi flock(2)", "koffi flock(2)"]],
    ["Node on Windows", machine("win32", "node"), ["open share mode 0", "koffi CreateFileW share mode 0"]],
    [
      "Bun on Windows, which is reported to ignore libuv's flag",
      machine("win32", "bun"),
      ["bun:ffi CreateFileW share mode 0", "koffi CreateFileW share mode 0"]
    ],
    ["a platform nobody measured: none", machine("aix", "node"), []]
  ])("%s", (_, seen, expected) => assert.deepStrictEqual(choose(seen), expected))

  it("only primitives that see each other are offered on one platform", () => {
    const family = (name: PrimitiveName) =>
      name.includes("CreateFileW") || name.includes("share mode") ? "share mode" : "flock"
    for (const platform of ["linux", "android", "darwin", "freebsd", "win32"] as const) {
      const offered = [22, 24, 26, 27].flatMap((major) =>
        (["node", "bun"] as const).flatMap((name) => choose(machine(platform, name, major, 9)))
      )
      assert.strictEqual(new Set(offered.map(family)).size, 1, platform)
    }
  })
})

/** Every primitive of every runtime that this platform offers; what is not installed is a skipped test. */
const pairs: ReadonlyArray<{
  readonly runtime: Runtime
  readonly primitive: PrimitiveName
  readonly possible: boolean
}> = runtimes.flatMap((runtime) => {
  const version = /\d+/.exec(runtime.name)?.[0] ?? process.versions.node.split(".")[0]
  const offered = choose(
    machine(
      process.platform,
      runtime.name === "bun" ? "bun" : "node",
      Number(version),
      runtime.name === "node 26" ? 9 : 0
    )
  )
  return offered.map((primitive) => ({
    runtime,
    primitive,
    possible: runtime.installed && (primitive !== "flock(1)" || has("flock"))
  }))
})

const forcedTo = (primitive: string) => ({ HOLDFAST_LOCK_PRIMITIVE: primitive })

describe("every primitive of this machine", () => {
  for (const { possible, primitive, runtime } of pairs) {
    const start = hands({ runtime, env: forcedTo(primitive) })
    const name = `${primitive} on ${runtime.name}`
    const reason = runtime.installed && !possible ? " (needs flock)" : lacking(runtime)

    it.live.skipIf(!possible)(
      `${name}: a second holder is refused, in the same process and in another, also while the first is stopped${reason}`,
      () =>
        Effect.gen(function* () {
          const lock = path.join(yield* temporary, "service.lock")
          const [holder, contender] = yield* Effect.all([start, start], { concurrency: 2 })
          const taken = yield* holder.call("gate", "enter", lock)
          assert.deepInclude(taken, { _tag: "Acquired" })
          assert.strictEqual(taken.lock.primitive, primitive)
          const stat = fs.statSync(lock)
          assert.strictEqual(stat.mode & 0o777, 0o600)
          assert.strictEqual((yield* holder.call("gate", "enter", lock, { retryForMs: 0 }))._tag, "Held")
          assert.strictEqual((yield* contender.call("gate", "enter", lock, { retryForMs: 0 }))._tag, "Held")
          yield* holder.signal("SIGSTOP")
          assert.strictEqual((yield* contender.call("gate", "enter", lock, { retryForMs: 200 }))._tag, "Held")
          assert.strictEqual(fs.statSync(lock).ino, stat.ino, "the lock file is never removed or replaced")
        })
    )

    it.live.skipIf(!possible)(`${name}: kill -9 frees it, and the file stays${reason}`, () =>
      Effect.gen(function* () {
        const lock = path.join(yield* temporary, "service.lock")
        const [holder, contender] = yield* Effect.all([start, start], { concurrency: 2 })
        assert.strictEqual((yield* holder.call("gate", "enter", lock))._tag, "Acquired")
        const { ino } = fs.statSync(lock)
        yield* holder.signal("SIGKILL")
        assert.strictEqual((yield* contender.call("gate", "enter", lock))._tag, "Acquired")
        assert.strictEqual(fs.statSync(lock).ino, ino)
      })
    )
  }

  it.live("all of them exclude each other: each holds one file and is refused every other", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const present = pairs.filter(({ possible }) => possible)
      const members = yield* Effect.forEach(
        present,
        ({ primitive, runtime }) => hands({ runtime, env: forcedTo(primitive) }),
        { concurrency: 4 }
      )
      const lockOf = (index: number) => path.join(directory, `${index}.lock`)
      for (const [index, member] of members.entries()) {
        assert.strictEqual(
          (yield* member.call("gate", "enter", lockOf(index)))._tag,
          "Acquired",
          present[index]!.primitive
        )
      }
      for (const [contender, member] of members.entries()) {
        for (const holder of members.keys()) {
          const { _tag } = yield* member.call("gate", "enter", lockOf(holder), { retryForMs: 0 })
          assert.strictEqual(
            _tag,
            "Held",
            `${present[holder]!.primitive} on ${present[holder]!.runtime.name} let in ${present[contender]!.primitive} on ${present[contender]!.runtime.name}`
          )
        }
      }
    })
  )

  const inheriting = runtimes.filter(({ name }) => name !== "node 22")
  for (const runtime of inheriting) {
    it.live.skipIf(!runtime.installed || !has("flock"))(
      `a lock that was taken before the process started is adopted by ${runtime.name}, and by nobody else${has("flock") ? lacking(runtime) : " (needs flock)"}`,
      () =>
        Effect.gen(function* () {
          const lock = path.join(yield* temporary, "service.lock")
          const descriptor = fs.openSync(lock, "a", 0o600)
          assert.strictEqual(
            childProcess.spawnSync("flock", ["-n", "-x", "3"], { stdio: ["ignore", "ignore", "ignore", descriptor] })
              .status,
            0
          )
          const heir = yield* hands({ runtime, inherit: descriptor })
          const other = yield* hands()
          assert.strictEqual((yield* heir.call("gate", "enter", lock, { inherited: 3 }))._tag, "Acquired")
          fs.closeSync(descriptor)
          assert.strictEqual((yield* other.call("gate", "enter", lock, { retryForMs: 0 }))._tag, "Held")
          yield* heir.signal("SIGKILL")
          assert.strictEqual((yield* other.call("gate", "enter", lock))._tag, "Acquired")
        })
    )
  }

  it.live.skipIf(!has("flock"))(
    "an inherited descriptor that holds another file, or no file at all, proves nothing (needs flock)",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const [lock, elsewhere] = [path.join(directory, "service.lock"), path.join(directory, "elsewhere")]
        const holder = yield* hands()
        assert.strictEqual((yield* holder.call("gate", "enter", lock))._tag, "Acquired")
        const descriptor = fs.openSync(elsewhere, "a", 0o600)
        childProcess.spawnSync("flock", ["-n", "-x", "3"], { stdio: ["ignore", "ignore", "ignore", descriptor] })
        const heir = yield* hands({ inherit: descriptor })
        fs.closeSync(descriptor)
        assert.strictEqual((yield* heir.call("gate", "enter", lock, { inherited: 3, retryForMs: 0 }))._tag, "Held")
        assert.strictEqual((yield* heir.call("gate", "enter", lock, { inherited: 99, retryForMs: 0 }))._tag, "Held")
        yield* holder.signal("SIGKILL")
        assert.strictEqual(
          (yield* heir.call("gate", "enter", lock, { inherited: 99 }))._tag,
          "Acquired",
          "the ordinary way stays open"
        )
      })
  )
})

/** A `flock` program for the front of PATH. */
const fakeFlock = (directory: string, script: string): string => {
  const bin = path.join(directory, "bin")
  fs.mkdirSync(bin)
  fs.writeFileSync(path.join(bin, "flock"), `#!/bin/sh\n[ "$1" = --version ] && exit 0\n${script}\n`, { mode: 0o755 })
  return `${bin}:${process.env["PATH"]}`
}

const advice = (outcome: Record<string, string>) => {
  assert.strictEqual(outcome["_tag"], "Unsupported")
  assert.match(outcome["message"]!, /^No lock that holds could be taken on .*\.$/)
  assert.notInclude(outcome["message"]!, "\n")
  assert.include(outcome["action"]!, "koffi")
  return outcome["message"]!
}

describe("a lock that does not hold is never fine", () => {
  it.live("a primitive that lets a second holder in is noticed", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const one = yield* hands({ env: { ...forcedTo("flock(1)"), PATH: fakeFlock(directory, "exit 0") } })
      assert.include(
        advice(yield* one.call("gate", "enter", path.join(directory, "service.lock"))),
        "a second holder was let in"
      )
    })
  )

  it.live.skipIf(!has("cc"))(
    "an operating system whose flock does nothing is noticed, by whatever FFI it is called (needs cc)",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const [source, library] = [path.join(directory, "noop.c"), path.join(directory, "noop.so")]
        fs.writeFileSync(source, "int flock(int fd, int operation) { return 0; }\n")
        childProcess.execFileSync("cc", ["-shared", "-fPIC", "-o", library, source])
        for (const runtime of runtimes.filter(({ installed, name }) => installed && name !== "bun")) {
          const one = yield* hands({ runtime, env: { LD_PRELOAD: library } })
          const message = advice(yield* one.call("gate", "enter", path.join(directory, `${runtime.name}.lock`)))
          assert.include(message, "koffi flock(2): a second holder was let in")
          assert.include(message, "flock(1): a second holder was let in")
        }
      })
  )

  for (const errno of ["ENOLCK", "ENOSYS", "EBADF", "EOPNOTSUPP", "EINTR"]) {
    it.live.skipIf(!has("cc"))(
      `an operating system whose flock fails with ${errno} is an error with advice, never a lock (needs cc)`,
      () =>
        Effect.gen(function* () {
          const directory = yield* temporary
          const [source, library] = [path.join(directory, "fails.c"), path.join(directory, "fails.so")]
          const body = `#include <errno.h>\nint flock(int fd, int operation) { errno = ${errno}; return -1; }\n`
          fs.writeFileSync(source, body)
          childProcess.execFileSync("cc", ["-shared", "-fPIC", "-o", library, source])
          for (const runtime of runtimes.filter(({ installed, name }) => installed && name !== "bun")) {
            const one = yield* hands({ runtime, env: { LD_PRELOAD: library } })
            const outcome = yield* one.call("gate", "enter", path.join(directory, `${runtime.name}.lock`))
            if (["ENOLCK", "ENOSYS", "EOPNOTSUPP"].includes(errno)) advice(outcome)
            else assert.strictEqual(outcome._tag, "Failed")
            assert.notInclude(outcome.message, "\n")
            assert.isNotEmpty(outcome.action)
          }
        })
    )
  }

  it.live.skipIf(!mayMount || !has("flock"))(
    "a file system whose locks do not hold spoils no other one (needs mount)",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const [bad, good] = [path.join(directory, "bad"), path.join(directory, "good")]
        for (const one of [bad, good]) fs.mkdirSync(one)
        const script = `case "$(readlink /proc/self/fd/3)" in ${bad}/*) exit 0;; esac\nexec ${childProcess.execFileSync("which", ["flock"]).toString().trim()} "$@"`
        const one = yield* hands({
          before: ["unshare", "-m", "sh", "-c", `mount -t tmpfs none ${bad} && exec "$@"`, "sh"],
          env: { ...forcedTo("flock(1)"), PATH: fakeFlock(directory, script) }
        })
        advice(yield* one.call("gate", "enter", path.join(bad, "service.lock")))
        assert.strictEqual((yield* one.call("gate", "enter", path.join(good, "service.lock")))._tag, "Acquired")
      })
  )

  it.live.each(["nonsense", "open share mode 0", "bun:ffi flock(2)", "Koffi flock(2)"])(
    "the primitive %j, which is none of this runtime, is unsupported, with advice",
    (name) =>
      Effect.gen(function* () {
        const lock = path.join(yield* temporary, "service.lock")
        const one = yield* hands({ env: forcedTo(name) })
        assert.include(advice(yield* one.call("gate", "enter", lock)), name)
        assert.isFalse(fs.existsSync(lock))
      })
  )

  it.live("a missing flock program is unsupported, with advice", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const one = yield* hands({ runtime: thisNode, env: { ...forcedTo("flock(1)"), PATH: directory } })
      assert.include(advice(yield* one.call("gate", "enter", path.join(directory, "service.lock"))), "flock(1): ENOENT")
    })
  )

  it.live.each<[string, string]>([
    ["is killed", "kill -9 $$"],
    ["fails", "exit 66"]
  ])("a flock program that %s is an error, never a refusal and never a lock", ([, script]) =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const one = yield* hands({ env: { ...forcedTo("flock(1)"), PATH: fakeFlock(directory, script) } })
      advice(yield* one.call("gate", "enter", path.join(directory, "service.lock")))
    })
  )
})
