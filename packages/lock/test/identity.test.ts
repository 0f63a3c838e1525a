import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as identity from "../src/identity.ts"
import { readInfo } from "../src/internal/darwinProcess.ts"
import { kernelOf } from "../src/internal/sighting.ts"
import {
  asNobody,
  hands,
  inOwnMounts,
  mayBecomeNobody,
  mayMount,
  recordedOn,
  lacking,
  runtimes,
  startedAt,
  until
} from "./support.ts"

const linux = process.platform === "linux"
const host = "here"
const recorded: identity.ProcessIdentity = { pid: 7, startIdentity: "boot-a/4026/100/m", host }
const sighting = {
  host,
  boot: "boot-a",
  namespace: "4026",
  machine: "m",
  process: { ended: false, start: "100", parent: 1 }
} as const

describe("whether the recorded process still runs, from what the kernel said", () => {
  it.each<
    [
      string,
      Partial<identity.ProcessIdentity>,
      Partial<Parameters<typeof identity.judge>[1] & { process: Parameters<typeof identity.judge>[2] }>,
      identity.IdentityState
    ]
  >([
    ["it is there", {}, {}, "alive"],
    ["it has ended, and nobody collected it", {}, { process: { ended: true, start: "100", parent: 1 } }, "dead"],
    ["it is gone", {}, { process: "absent" }, "dead"],
    ["its pid is another process's by now", {}, { process: { ended: false, start: "101", parent: 1 } }, "dead"],
    ["its pid was another process's before", {}, { process: { ended: false, start: "99", parent: 1 } }, "dead"],
    ["the machine was started anew, and the pid is free", {}, { boot: "boot-b", process: "absent" }, "dead"],
    ["the machine was started anew, and the pid and even the ticks are in use", {}, { boot: "boot-b" }, "dead"],
    ["another boot and another namespace", {}, { boot: "boot-b", namespace: "1" }, "dead"],
    ["we may not look at it", {}, { process: "hidden" }, "unknown"],
    [
      "it belongs to another pid namespace, where its pid is free here",
      {},
      { namespace: "4027", process: "absent" },
      "unknown"
    ],
    ["it belongs to another pid namespace, where its pid is in use here", {}, { namespace: "4027" }, "unknown"],
    ["the machine was renamed while it ran", { host: "there" }, {}, "alive"],
    ["the machine was renamed while it ran, and it is gone", { host: "there" }, { process: "absent" }, "dead"],
    [
      "it belongs to a machine of another name, and another boot",
      { host: "there" },
      { boot: "boot-b", process: "absent" },
      "unknown"
    ],
    [
      "it belongs to a machine of the same name, with another id",
      { startIdentity: "boot-a/4026/100/other" },
      { boot: "boot-b", process: "absent" },
      "unknown"
    ],
    [
      "its machine had no id, and this one has",
      { startIdentity: "boot-a/4026/100/" },
      { boot: "boot-b", process: "absent" },
      "unknown"
    ],
    [
      "neither boot of the machine had an id",
      { startIdentity: "boot-a/4026/100/" },
      { boot: "boot-b", machine: "", process: "absent" },
      "dead"
    ],
    ["we cannot tell our own namespace", {}, { namespace: "", process: "absent" }, "unknown"],
    ["we cannot tell our own boot", {}, { boot: "", process: "absent" }, "unknown"],
    ["it was recorded without a start time", { startIdentity: "" }, {}, "unknown"],
    ["its record is garbage", { startIdentity: "garbage" }, { process: "absent" }, "unknown"],
    ["its record has no boot", { startIdentity: "/4026/100/m" }, { process: "absent" }, "unknown"],
    ["its record has no namespace", { startIdentity: "boot-a//100/m" }, { process: "absent" }, "unknown"],
    ["its record has no ticks", { startIdentity: "boot-a/4026//m" }, { process: "absent" }, "unknown"]
  ])("%s", (_, record, seen, expected) => {
    const { process, ...here } = { ...sighting, ...seen }
    assert.strictEqual(identity.judge({ ...recorded, ...record }, here, process), expected)
  })
})

/** A child that ends when its parent is a program that never collects it; both are gone after the scope. */
const zombie = Effect.gen(function* () {
  const parent = yield* Effect.acquireRelease(
    Effect.sync(() =>
      childProcess.spawn("sh", ["-c", "(until grep -qx sleep /proc/$$/comm; do :; done) & echo $!; exec sleep 60"], {
        stdio: ["ignore", "pipe", "ignore"]
      })
    ),
    (parent) => Effect.sync(() => void parent.kill("SIGKILL"))
  )
  const pid = yield* Effect.promise(
    () =>
      new Promise<number>((resolve) => parent.stdout.once("data", (text: Buffer) => resolve(Number(text.toString()))))
  )
  yield* until("the child is a zombie", () => fs.readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z "))
  return pid
})

describe.skipIf(!linux)("processes of this machine (needs Linux)", () => {
  it("this process is alive, and known by the same identity however it is asked for", () => {
    const own = identity.own()
    assert.strictEqual(own.pid, process.pid)
    assert.strictEqual(own.host, os.hostname())
    assert.deepStrictEqual(identity.ofPid(process.pid), own)
    assert.strictEqual(identity.state(own), "alive")
  })

  it.live("another one is alive, also while it is stopped, and dead from its end on", () =>
    Effect.gen(function* () {
      const other = yield* hands()
      const theirs = yield* other.call("identity", "own")
      assert.deepStrictEqual(identity.ofPid(other.pid), theirs, "both sides read the same")
      assert.strictEqual(identity.state(theirs), "alive")
      yield* other.signal("SIGSTOP")
      assert.strictEqual(identity.state(theirs), "alive")
      yield* other.signal("SIGKILL")
      yield* other.ended
      assert.strictEqual(identity.state(theirs), "dead")
      assert.isUndefined(identity.ofPid(other.pid))
    })
  )

  it.live("a zombie is dead", () =>
    Effect.gen(function* () {
      assert.strictEqual(identity.state(identity.ofPid(yield* zombie)!), "dead")
    })
  )

  it.live.each([") S 1 (", ") Z 1 (", "a b) c", "(((", ")))", "\n) X 1"])(
    "a process whose command is %j is read right",
    (command) =>
      Effect.gen(function* () {
        const other = yield* hands()
        const before = identity.ofPid(other.pid)!
        yield* other.call("global", "nameMyself", command)
        assert.include(fs.readFileSync(`/proc/${other.pid}/stat`, "utf8"), `(${command})`)
        assert.deepStrictEqual(identity.ofPid(other.pid), before)
        assert.strictEqual(identity.state(before), "alive")
      })
  )

  it("a pid in use by a process that started at another time is not the one recorded", () => {
    const own = identity.own()
    assert.strictEqual(identity.state(startedAt((ticks) => ticks + 1, own)), "dead")
  })

  it("there is no identity of a pid nobody has", () => {
    for (const pid of [0, -1, 4_194_305, Number.NaN, 1.5]) assert.isUndefined(identity.ofPid(pid), String(pid))
  })
})

describe.skipIf(!linux)("what may not be seen is never dead (needs Linux)", () => {
  const outside = identity.own()

  it.live.skipIf(!mayMount)("a process of another pid namespace, from both sides (needs unshare)", () =>
    Effect.gen(function* () {
      const inside = yield* hands({ before: ["unshare", "-p", "-f", "--kill-child", "--mount-proc"] })
      const theirs = yield* inside.call("identity", "own")
      assert.strictEqual(theirs.pid, 1, "its pid is in use here, by another process")
      assert.strictEqual(identity.state(theirs), "unknown")
      assert.strictEqual(yield* inside.call("identity", "state", outside), "unknown")
      assert.strictEqual(yield* inside.call("identity", "state", theirs), "alive")
    })
  )

  it.live.skipIf(!mayMount)("a process of another time namespace, whose start times are shifted (needs unshare)", () =>
    Effect.gen(function* () {
      const shifted = yield* hands({ before: ["unshare", "-T", "--boottime", "100000", "--fork", "--kill-child"] })
      assert.strictEqual(yield* shifted.call("identity", "state", outside), "unknown")
      const theirs = yield* shifted.call("identity", "own")
      assert.strictEqual(identity.state(theirs), "unknown")
      assert.strictEqual(yield* shifted.call("identity", "state", theirs), "alive")
    })
  )

  for (const hidepid of [1, 2]) {
    it.live.skipIf(!mayMount || !mayBecomeNobody)(
      `another user's process where /proc hides it (hidepid=${hidepid}; needs mount)`,
      () =>
        Effect.gen(function* () {
          const nobody = yield* hands({
            before: [...inOwnMounts(`mount -t proc -o hidepid=${hidepid} proc /proc`), ...asNobody]
          })
          assert.strictEqual(yield* nobody.call("identity", "state", outside), "unknown")
        })
    )
  }

  it.live.skipIf(!mayMount)("any process where there is no /proc (needs mount)", () =>
    Effect.gen(function* () {
      const blind = yield* hands({ before: inOwnMounts("mount -t tmpfs none /proc") })
      assert.strictEqual(yield* blind.call("identity", "state", outside), "unknown")
      assert.strictEqual(yield* blind.call("identity", "signal", outside, "SIGTERM"), false)
    })
  )

  it.live.skipIf(!mayMount)("any process where the boot id is hidden (needs mount)", () =>
    Effect.gen(function* () {
      const blind = yield* hands({ before: inOwnMounts("mount -t tmpfs none /proc/sys") })
      assert.strictEqual(yield* blind.call("identity", "state", outside), "unknown")
    })
  )
})

describe("other platforms, as far as they can be tried here", () => {
  it("macOS's struct proc_bsdinfo is read by its documented offsets", () => {
    const info = Buffer.alloc(136)
    info.writeUInt32LE(5, 4)
    info.writeUInt32LE(77, 16)
    info.writeBigUInt64LE(1_700_000_000n, 120)
    info.writeBigUInt64LE(42n, 128)
    assert.deepStrictEqual(readInfo(info), {
      ended: true,
      stopped: false,
      start: "1700000000000042",
      parent: 77
    })
    info.writeUInt32LE(2, 4)
    assert.isFalse(readInfo(info).ended)
    info.writeUInt32LE(4, 4)
    assert.isTrue(readInfo(info).stopped)
  })

  it("each platform has its own module, and one that is not known has none", () => {
    const known = (["linux", "android", "darwin", "win32"] as const).map((platform) => kernelOf(platform))
    assert.notInclude(known, undefined)
    assert.strictEqual(new Set(known).size, 3)
    assert.isUndefined(kernelOf("sunos"))
  })

  it("where its library is missing a process is hidden, never absent", () => {
    for (const platform of (["darwin", "win32"] as const).filter((one) => one !== process.platform)) {
      const kernel = kernelOf(platform)!
      assert.strictEqual(kernel.look(process.pid), "hidden")
      assert.strictEqual(kernel.boot(), "")
      assert.strictEqual(kernel.machine(), "")
    }
  })

  for (const runtime of runtimes) {
    it.live.skipIf(!runtime.installed || !linux)(
      `libc fills a buffer that ${runtime.name} gives it${linux ? lacking(runtime) : " (needs Linux)"}`,
      () =>
        Effect.gen(function* () {
          const one = yield* hands({ runtime })
          assert.strictEqual(yield* one.call("global", "hostByLibc"), os.hostname())
        })
    )
  }
})

describe.skipIf(!linux)("a signal (needs Linux)", () => {
  it.live("reaches exactly the process it is for", () =>
    Effect.gen(function* () {
      const other = yield* hands()
      const theirs = yield* other.call("identity", "own")
      assert.isTrue(identity.signal(theirs, "SIGTERM"))
      assert.strictEqual(yield* other.ended, "SIGTERM")
      assert.isFalse(identity.signal(theirs, "SIGTERM"), "and nobody after its end")
    })
  )

  it.live("does not reach a process that got the pid later, is on another machine, or cannot be identified", () =>
    Effect.gen(function* () {
      const other = yield* hands()
      const theirs: identity.ProcessIdentity = yield* other.call("identity", "own")
      const wrong: ReadonlyArray<Partial<identity.ProcessIdentity>> = [
        startedAt(() => 1, theirs),
        { startIdentity: theirs.startIdentity.replace(/^[^/]+/, "another-boot") },
        { startIdentity: theirs.startIdentity.replace(/\/[^/]+\//, "/1/") },
        { startIdentity: "" },
        recordedOn("elsewhere", theirs)
      ]
      const kill = vi.spyOn(process, "kill").mockReturnValue(true)
      const sent = wrong.map((change) => identity.signal({ ...theirs, ...change }, "SIGKILL"))
      const asked = kill.mock.calls.length
      kill.mockRestore()
      assert.deepStrictEqual(
        sent,
        wrong.map(() => false)
      )
      assert.strictEqual(asked, 0)
      assert.deepStrictEqual(yield* other.call("identity", "own"), theirs, "it is unharmed")
    })
  )

  it("is never sent to init, to this process, or to a group of processes", () => {
    const kill = vi.spyOn(process, "kill").mockReturnValue(true) // were the law broken, nothing must happen all the same
    try {
      const init = identity.ofPid(1)!
      const own = identity.own()
      const refused = [
        init,
        own,
        ...[0, -1, -own.pid, Number.NaN, 1.5, Number.POSITIVE_INFINITY].map((pid) => ({ ...own, pid }))
      ]
      for (const one of refused)
        for (const name of ["SIGTERM", "SIGKILL"] as const) assert.isFalse(identity.signal(one, name), String(one.pid))
      assert.strictEqual(kill.mock.calls.length, 0)
    } finally {
      kill.mockRestore()
    }
  })

  it.live.skipIf(!mayBecomeNobody)("that the kernel refuses is not reported as sent (needs setpriv)", () =>
    Effect.gen(function* () {
      const other = yield* hands()
      const theirs = yield* other.call("identity", "own")
      const nobody = yield* hands({ before: asNobody })
      assert.strictEqual(yield* nobody.call("identity", "state", theirs), "alive")
      assert.isFalse(yield* nobody.call("identity", "signal", theirs, "SIGKILL"))
      assert.strictEqual(identity.state(theirs), "alive")
    })
  )

  it.live("is not sent to a zombie", () =>
    Effect.gen(function* () {
      assert.isFalse(identity.signal(identity.ofPid(yield* zombie)!, "SIGTERM"))
    })
  )
})
