import { assert, describe, it } from "@effect/vitest"
import { paths as pathsOf } from "@holdfast/lock/ServicePaths"
import * as Doctor from "../src/Doctor.ts"
import { healthOf, note, registration } from "./support.ts"

const now = Date.UTC(2026, 0, 1)
const paths = pathsOf({ app: "hello", directory: "/srv/hello" })
const running = { ...note, startedAt: now - 60_000 }
const claimed = {
  instanceID: "one",
  pid: 7,
  startIdentity: "boot/1/1",
  host: "here",
  lockInode: "1:1",
  heartbeatAt: now - 2000,
  expiresAt: now + 28_000
}
const problem = { code: "EACCES", path: "/srv", message: "Cannot do it: permission denied.", action: "Mend it." }

/** Nobody runs, and nothing is in the way. */
const nobody: Doctor.Facts = {
  spec: { app: "hello", title: "Hello", version: "1.0.0" },
  paths,
  now,
  directory: { exists: true, mode: 0o700 },
  fileSystem: { name: "ext4", remote: false, freeBytes: 3e9 },
  primitive: { name: "flock(1)" },
  note: { _tag: "Absent" },
  holder: { _tag: "Nobody" },
  registration: { _tag: "Absent" },
  registered: "unknown",
  endpoint: { _tag: "NotAsked", why: "nobody is registered" },
  secret: "Absent",
  lease: { _tag: "Absent" },
  program: { file: "/opt/hello/daemon.js", modifiedAt: now - 100_000 },
  environment: {
    home: "/home/ada",
    recordedHome: "/home/ada",
    stateDir: { name: "HELLO_STATE_DIR", value: undefined },
    channel: "stable",
    profile: "default",
    kept: []
  },
  log: { _tag: "Absent" }
}

const ready: Doctor.Facts = {
  ...nobody,
  note: { _tag: "Seen", value: running },
  holder: { _tag: "Here", note: running },
  registration: { _tag: "Seen", value: registration },
  registered: "alive",
  endpoint: { _tag: "Answered", health: healthOf({ type: "ready" }) },
  secret: "Secret",
  lease: { _tag: "Row", epoch: 3, holder: claimed }
}

const dead: Doctor.Facts = {
  ...ready,
  holder: { _tag: "Nobody" },
  registered: "dead",
  endpoint: { _tag: "NotAsked", why: "its process has ended" }
}

const order: ReadonlyArray<Doctor.Check> = [
  "directory",
  "permissions",
  "filesystem",
  "lock primitive",
  "holder",
  "registration",
  "endpoint",
  "secret",
  "lease",
  "clock",
  "version",
  "environment",
  "log tail"
]

const wrongIn = (facts: Doctor.Facts) => Doctor.diagnose(facts).filter(({ verdict }) => verdict === "wrong")
const about = (facts: Doctor.Facts, check: Doctor.Check) =>
  Doctor.diagnose(facts).find((finding) => finding.check === check)!

describe("a doctor", () => {
  it.each<[string, Doctor.Facts]>([
    ["where nobody runs", nobody],
    ["where nothing was ever", { ...nobody, directory: { exists: false } }],
    ["of a service that is ready", ready],
    ["of one that was killed", dead],
    [
      "of one that was killed, and whose records are of no use",
      { ...dead, note: { _tag: "Garbage" }, registration: { _tag: "Garbage" } }
    ],
    ["of one that is starting", { ...ready, endpoint: { _tag: "Answered", health: healthOf({ type: "starting" }) } }],
    [
      "of one that has just started and is not registered yet",
      {
        ...ready,
        now: running.startedAt + 100,
        lease: { _tag: "Row", epoch: 1, holder: { ...claimed, heartbeatAt: running.startedAt } },
        registration: { _tag: "Absent" },
        endpoint: { _tag: "NotAsked", why: "nobody is registered" }
      }
    ],
    ["of one in another container that answers", { ...ready, holder: { _tag: "Unknown", note: running } }],
    [
      "on a shared disk, by the policy for it",
      { ...ready, fileSystem: { name: "nfs", remote: true }, spec: { ...ready.spec, policy: "fenced" } }
    ]
  ])("%s finds nothing to do, in the order of the checks", (_, facts) => {
    assert.deepStrictEqual(wrongIn(facts), [])
    assert.isTrue(Doctor.isFine(Doctor.diagnose(facts)))
    assert.deepStrictEqual(
      Doctor.diagnose(facts).map(({ check }) => check),
      order
    )
  })

  it.each<[Doctor.Check, Doctor.Facts, RegExp, RegExp]>([
    [
      "directory",
      { ...nobody, directory: { exists: true, problem: { ...problem, code: "ENOTDIR" } } },
      /Cannot do it/,
      /Mend it/
    ],
    ["permissions", { ...nobody, directory: { exists: true, problem } }, /Cannot do it/, /Mend it/],
    [
      "filesystem",
      { ...ready, fileSystem: { name: "nfs", remote: true } },
      /^nfs: other machines may use it/,
      /local disk/
    ],
    [
      "filesystem",
      { ...ready, fileSystem: { name: "ext4", remote: false, freeBytes: 0 } },
      /is full/,
      /Free some space/
    ],
    ["lock primitive", { ...ready, primitive: { why: "koffi: not there" } }, /koffi: not there/, /Install .*koffi/],
    [
      "holder",
      { ...dead, holder: { _tag: "Elsewhere", host: "castle", note: running } },
      /runs on host castle, or did/,
      /on that host/
    ],
    [
      "holder",
      { ...dead, registered: "unknown", holder: { _tag: "Unknown", note: running } },
      /cannot be seen from here/,
      /in the container/
    ],
    ["holder", { ...dead, note: { _tag: "Unreadable", problem } }, /Cannot do it/, /Mend it/],
    [
      "registration",
      { ...ready, registration: { _tag: "Garbage" } },
      /of no use, and its owner puts it back/,
      /again in 10 s/
    ],
    [
      "endpoint",
      { ...ready, endpoint: { _tag: "Unreachable", why: "it does not answer", silent: true } },
      /does not answer at http/,
      /`hello service restart`/
    ],
    [
      "endpoint",
      { ...ready, endpoint: { _tag: "Unreachable", why: "another program listens there", silent: false } },
      /another program listens there/,
      /`hello service restart`/
    ],
    [
      "endpoint",
      {
        ...ready,
        endpoint: { _tag: "Answered", health: healthOf({ type: "failed", message: "No index.", action: "Run: index" }) }
      },
      /^No index\.$/,
      /^Run: index$/
    ],
    ["secret", { ...ready, secret: problem }, /Cannot do it/, /Mend it/],
    ["secret", { ...ready, secret: "Absent" }, /none, and its owner puts it back/, /again in 10 s/],
    [
      "lease",
      { ...nobody, lease: { _tag: "Unusable", code: "corrupt", message: "It is damaged.", action: "Remove it." } },
      /damaged/,
      /Remove it/
    ],
    [
      "lease",
      { ...ready, lease: { _tag: "Row", epoch: 4, holder: { ...claimed, instanceID: "two" } } },
      /not who holds the lock/,
      /again in 10 s/
    ],
    ["lease", { ...ready, now: now + 300_000 }, /ran out 272 s ago|ran out 5 min ago/, /again in 10 s/],
    ["clock", { ...ready, now: now - 3 * 3_600_000 }, /It was 3 h later .* set back/, /clock/],
    [
      "version",
      { ...ready, endpoint: { _tag: "Answered", health: healthOf({ type: "ready" }, "2.0.0") } },
      /^v2\.0\.0 runs, and this program is v1\.0\.0\.$/,
      /restart/
    ],
    [
      "version",
      { ...ready, program: { file: "/opt/hello/daemon.js", modifiedAt: now - 1000 } },
      /was changed since it started/,
      /restart/
    ],
    [
      "version",
      { ...nobody, program: { file: "/opt/hello/daemon.js" } },
      /daemon\.js is not there/,
      /Install hello again/
    ],
    [
      "log tail",
      { ...dead, log: { _tag: "Seen", value: ["t INFO  4b1f starting hello", "t ERROR 4b1f out of luck", "more"] } },
      /out of luck/,
      /`hello service logs`/
    ],
    ["log tail", { ...nobody, log: { _tag: "Unreadable", problem } }, /Cannot do it/, /Mend it/]
  ])("%s: what is wrong comes with the one thing to do", (check, facts, saw, action) => {
    const found = about(facts, check)
    assert.strictEqual(found.verdict, "wrong")
    assert.match(found.saw, saw)
    assert.match(found.action ?? "", action)
    assert.isFalse(Doctor.isFine(Doctor.diagnose(facts)))
  })

  it("does not blame a service that is ready for an error of its past, or of the one before", () => {
    const value = ["t INFO  4b1f starting hello", "t ERROR 4b1f out of luck"]
    assert.strictEqual(about({ ...ready, log: { _tag: "Seen", value } }, "log tail").verdict, "fine")
    const later = [...value, "t INFO  77aa starting hello", "t INFO  77aa stopped"]
    assert.strictEqual(about({ ...nobody, log: { _tag: "Seen", value: later } }, "log tail").verdict, "fine")
  })

  it("does not send a person who is in another container to restart what is not there", () => {
    const endpoint = { _tag: "Unreachable", why: "nobody listens there", silent: false } as const
    const found = about({ ...ready, holder: { _tag: "Unknown", note: running }, endpoint }, "endpoint")
    assert.deepStrictEqual([found.verdict, found.action], ["unknown", undefined])
  })

  it("has a word for what an environment changes, and finds nothing wrong with it", () => {
    const environment = {
      home: "/home/other",
      recordedHome: "/home/ada",
      stateDir: { name: "HELLO_STATE_DIR", value: "/srv" },
      channel: "beta",
      profile: "work",
      kept: ["NODE_OPTIONS", "https_proxy"]
    }
    const { saw, verdict } = about({ ...ready, environment }, "environment")
    assert.strictEqual(verdict, "fine")
    for (const word of ["/home/other", "/home/ada", "HELLO_STATE_DIR", "beta", "work", "NODE_OPTIONS", "https_proxy"])
      assert.include(saw, word)
  })

  it("says each thing on one line without control characters, whatever a file or a program said", () => {
    const dirty = "one\ntwo\u001b[2J\u2028three".repeat(100)
    const facts: Doctor.Facts = {
      ...ready,
      endpoint: { _tag: "Answered", health: healthOf({ type: "failed", message: dirty, action: dirty }, dirty) },
      registration: { _tag: "Seen", value: { ...registration, url: dirty } },
      holder: { _tag: "Here", note: { ...running, instanceID: dirty, startedAt: 1e300 } },
      log: { _tag: "Seen", value: [dirty] },
      program: { file: dirty }
    }
    for (const { action = "", saw } of Doctor.diagnose(facts)) {
      assert.notMatch(saw + action, /[\p{Cc}\u2028\u2029]/u)
      assert.isNotEmpty(saw)
      assert.isBelow(saw.length, 400)
    }
  })
})
