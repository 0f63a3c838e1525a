import { assert, describe, it } from "@effect/vitest"
import * as Capability from "@holdfast/testkit/Capability"
import { Effect } from "effect"
import * as childProcess from "node:child_process"
import * as os from "node:os"
import { faulting, place, run } from "./faulting.ts"
import { withKit } from "./withKit.ts"

const namespaceOf = (kind: string, before: ReadonlyArray<string> = []) =>
  run([...before, "readlink", `/proc/self/ns/${kind}`])

describe("another namespace", () => {
  for (const [kind, name] of [
    ["pid", "pid"],
    ["network", "net"],
    ["host", "uts"],
    ["user", "user"]
  ] as const) {
    const { skip, suffix } = Capability.unless(`${kind} namespace`)
    it.live.skipIf(skip)(`of kind ${kind} is not ours${suffix}`, () =>
      Effect.gen(function* () {
        const before = yield* (yield* place).faults.otherNamespace(kind)
        assert.notStrictEqual(namespaceOf(name, before), namespaceOf(name))
      }).pipe(Effect.scoped)
    )
  }

  const no = Capability.unless("pid namespace", "host namespace", "mount namespace")
  it.live.skipIf(no.skip)(`of several kinds is one place: a container${no.suffix}`, () =>
    Effect.gen(function* () {
      const { faults } = yield* place
      const before = yield* faults.otherNamespace("pid", "host")
      assert.strictEqual(run([...before, "sh", "-c", "hostname; echo $$"]), "elsewhere\n1\n")
      const bare = yield* faults.otherNamespace("mount", "host")
      assert.strictEqual(run([...bare, "sh", "-c", "hostname; ls -A /proc"]), "elsewhere\n")
      assert.notStrictEqual(os.hostname(), "elsewhere")
    }).pipe(Effect.scoped)
  )
})

const user = Capability.unless("otherUser")

describe("another user", () => {
  it.live.skipIf(user.skip)(`has that id, and no group of ours${user.suffix}`, () =>
    Effect.gen(function* () {
      const { faults } = yield* place
      assert.strictEqual(run([...(yield* faults.otherUser()), "sh", "-c", "id -u; id -G"]), "12345\n12345\n")
      assert.strictEqual(run([...(yield* faults.otherUser(12_346)), "id", "-u"]), "12346\n")
    }).pipe(Effect.scoped)
  )

  for (const fault of ["fullDisk", "readOnly", "otherUser"] as const) {
    it.live.skipIf(user.skip)(`cannot have ${fault}: it is unavailable, with the reason${user.suffix}`, () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const before = yield* kit.otherUser()
          const tester = yield* faulting("/nowhere", "/nowhere", fault, before)
          yield* kit.eventually("it has said so", tester.said, (said) => said.endsWith("\n"))
          const { _tag, action, message, reason } = JSON.parse(tester.said())
          assert.deepStrictEqual([_tag, reason], ["FaultUnavailable", "needs root"])
          assert.strictEqual(message, `The fault "${fault}" cannot be had on this machine: needs root.`)
          assert.include(action, "Capability.unless")
        })
      )
    )
  }
})

describe("what a machine cannot do", () => {
  const able: Capability.Machine = { platform: "linux", root: true, succeeds: () => true, exists: () => true }
  const everyFault: ReadonlyArray<Capability.FaultName> = [
    "faultFile",
    "occupyPort",
    "fullDisk",
    "readOnly",
    "clockJump",
    "otherUser",
    "pid namespace",
    "network namespace",
    "mount namespace",
    "host namespace",
    "user namespace"
  ]
  const reasons = (machine: Partial<Capability.Machine>) =>
    everyFault.map((fault) => Capability.choose(fault, { ...able, ...machine }) ?? "")

  it("is nothing on a Linux machine with everything", () => {
    assert.deepStrictEqual(new Set(reasons({})), new Set([""]))
  })

  it("is all but files and ports on macOS and Windows, and asks nothing of them", () => {
    const asked = () => assert.fail("it was asked")
    for (const platform of ["darwin", "win32"] as const) {
      const [file, port, ...others] = reasons({ platform, succeeds: asked, exists: asked })
      assert.deepStrictEqual([file, port, new Set(others)], ["", "", new Set(["needs Linux"])])
    }
  })

  it("has its reason: no root, no mount, no unshare, no setpriv, no libfaketime", () => {
    const unshare = "needs unshare"
    assert.deepStrictEqual(reasons({ succeeds: () => false, exists: () => false }), [
      "",
      "",
      "needs mount",
      "needs mount",
      "needs libfaketime",
      "needs setpriv",
      unshare,
      unshare,
      unshare,
      unshare,
      unshare
    ])
    assert.deepStrictEqual(reasons({ root: false }), [
      "",
      "",
      "needs root",
      "needs root",
      "",
      "needs root",
      "",
      "",
      "",
      "",
      ""
    ])
  })

  it("is looked at once, and names itself in the title of a test that is skipped", () => {
    for (const fault of everyFault) {
      const reason = Capability.against(fault)
      const { skip, suffix } = Capability.unless("faultFile", fault, fault)
      assert.deepStrictEqual([skip, suffix], reason === undefined ? [false, ""] : [true, ` (${reason})`])
    }
  })

  it.live.skipIf(user.skip)(`is had without root in a user namespace, or is unavailable${user.suffix}`, () =>
    Effect.gen(function* () {
      const { faults } = yield* place
      const before = yield* faults.otherUser()
      const succeeds: Capability.Machine["succeeds"] = (command) =>
        childProcess.spawnSync(before[0]!, [...before.slice(1), ...command], { stdio: "ignore" }).status === 0
      for (const fault of everyFault.filter((name) => name.endsWith("namespace"))) {
        const reason = Capability.choose(fault, { ...able, root: false, succeeds })
        assert.include([undefined, "needs unshare"], reason, fault)
      }
    }).pipe(Effect.scoped)
  )
})
