import { assert, describe, it } from "@effect/vitest"
import { launchOf } from "@holdfast/client/Spawner"
import * as identity from "@holdfast/lock/identity"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Stream } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { clientSays } from "./elsewhere.ts"
import { boots, isReady, withKit } from "./withKit.ts"

const epochIn = (file: string): number => {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 2000 })
  try {
    return (database.prepare("SELECT epoch FROM lease").get() as { readonly epoch: number }).epoch
  } finally {
    database.close()
  }
}

/** A process that has nothing to do with the service, though it bears its name, and notes each signal it gets. */
const stranger = (kit: Testkit["Service"]) =>
  Effect.gen(function* () {
    const notes = `${kit.paths.directory}.signals`
    const script = `for s in TERM INT HUP USR1; do trap "echo $s >> '${notes}'" $s; done; echo up; while :; do read -t 1; done`
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn("bash", ["-c", script], {
          argv0: "fixture-daemon",
          cwd: "/",
          detached: true,
          stdio: ["pipe", "pipe", "ignore"]
        })
      ),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    )
    yield* Effect.promise(() => new Promise((resolve) => child.stdout.once("data", resolve)))
    return {
      identity: identity.ofPid(child.pid!)!,
      signals: () => (fs.existsSync(notes) ? fs.readFileSync(notes, "utf8") : "")
    }
  })

const registrationOf = (pid: number) =>
  JSON.stringify({ schema: 1, instanceID: "gone", version: "1.0.0", url: "http://127.0.0.1:9", pid })

describe("what a crash leaves behind", () => {
  it.live(
    "twenty crashes in a row, of the service alone or of its whole group: each next call has a new instance and a higher epoch",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const epochs = [0]
          for (let round = 0; round < 20; round++) {
            const ready = yield* kit.client.launch({ asked: true }) // nobody is made to wait for the crash before
            const epoch = epochIn(kit.paths.lease)
            assert.isAbove(epoch, epochs.at(-1)!)
            epochs.push(epoch)
            assert.strictEqual(boots(kit).length, round + 1)
            process.kill(round % 2 === 0 ? ready.pid : -ready.pid, "SIGKILL")
          }
        })
      ),
    60_000
  )

  it.live(
    "a stranger that has the recorded pid is neither waited for nor signalled, whatever start time was recorded",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const other = yield* stranger(kit)
          const mine = identity.own()
          const starts = [other.identity.startIdentity.replace(/\/\d+\/(?=[^/]*$)/, "/1/"), mine.startIdentity, ""]
          for (const startIdentity of starts) {
            const lockInode = fs.existsSync(kit.paths.lock)
              ? ((stat) => `${stat.dev}:${stat.ino}`)(fs.statSync(kit.paths.lock, { bigint: true }))
              : ""
            const note = { schema: 1, ...other.identity, startIdentity, instanceID: "gone", lockInode, startedAt: 1 }
            fs.writeFileSync(kit.paths.registration, registrationOf(other.identity.pid))
            fs.writeFileSync(kit.paths.owner, JSON.stringify(note))
            const before = yield* kit.client.stop()
            assert.include(["NotRunning", "Unidentified"], before._tag)
            const ready = yield* kit.client.ensure({ deadline: startIdentity === "" ? "20 seconds" : "5 seconds" })
            assert.notStrictEqual(ready.pid, other.identity.pid)
            assert.strictEqual((yield* kit.client.restart())._tag, "Restarted")
            assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
          }
          assert.strictEqual(identity.state(other.identity), "alive")
          assert.strictEqual(other.signals(), "")
        })
      )
  )

  it.live("an owner that nobody collects after its end is dead: the next one starts, and a stop is over at once", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { args, command, env } = launchOf(kit.spec, kit.paths)
        yield* Effect.acquireRelease(
          Effect.sync(() =>
            spawn("sh", ["-c", '"$@" & exec sleep 60', "sh", command, ...args], {
              cwd: kit.paths.directory,
              env,
              stdio: "ignore"
            })
          ),
          (parent) => Effect.sync(() => void parent.kill("SIGKILL"))
        )
        const owner = yield* kit.owner
        yield* owner.kill
        yield* kit.eventually(
          "it is a zombie",
          () => fs.readFileSync(`/proc/${owner.pid}/stat`, "utf8"),
          (stat) => stat.includes(") Z ")
        )
        assert.strictEqual((yield* kit.client.stop())._tag, "NotRunning")
        assert.notStrictEqual((yield* kit.client.ensure()).pid, owner.pid)
      })
    )
  )

  it.live(
    "a record that is empty, damaged, or no file at all: status answers, and the next call starts a service",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* kit.client.ensure()
          const { directory, lease, lock, owner, registration, secret, spawnLock } = kit.paths
          const good = registrationOf(1)
          const harms: ReadonlyArray<readonly [string, () => void]> = [
            ...[lease, lock, owner, registration, secret, spawnLock].map(
              (file) => [`${file} is empty`, () => fs.writeFileSync(file, "")] as const
            ),
            ...Object.entries({
              half: good.slice(0, good.length / 2),
              zeros: "\0".repeat(4096),
              list: "[]",
              more: `${good} and more`,
              "with a byte order mark": `\uFEFF${good}`,
              "of the shape before Holdfast": JSON.stringify({ id: "old", url: "http://127.0.0.1:9", pid: 4_000_000 }),
              huge: " ".repeat(2_000_000)
            }).map(
              ([what, text]) => [`a registration that is ${what}`, () => fs.writeFileSync(registration, text)] as const
            ),
            [
              "a dangling link",
              () => (fs.rmSync(registration, { force: true }), fs.symlinkSync("/nowhere", registration))
            ]
          ]
          for (const [what, harm] of harms) {
            yield* kit.client.stop()
            harm()
            const status = (yield* kit.client.state).status.type
            assert.include(["missing", "unreachable"], status, what)
            const ready = yield* kit.client.ensure()
            assert.strictEqual((yield* isReady(kit)).registration?.pid, ready.pid, what)
            assert.deepStrictEqual(
              fs.readdirSync(directory).filter((name) => name.endsWith(".tmp")),
              [],
              what
            )
          }
        })
      ),
    60_000
  )

  it.live(
    "No losing contender survives or builds a location graph, or anything else of an application: sixteen after each crash",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          for (let round = 1; round <= 4; round++) {
            const members = yield* kit.swarm(16)
            const state = yield* isReady(kit)
            const winner = members.find(({ pid }) => pid === state.registration?.pid)!
            const losers = members.filter((member) => member !== winner)
            const ends = yield* Effect.forEach(losers, (loser) => loser.exited, { concurrency: "unbounded" })
            assert.isTrue(ends.every(({ code }) => code === 0))
            assert.strictEqual(boots(kit).length, round)
            assert.strictEqual(epochIn(kit.paths.lease), round)
            yield* winner.kill
            yield* winner.exited
          }
        })
      ),
    60_000
  )
})

describe.concurrent("a running owner", () => {
  it.live("is judged by no file's times: with all of them in 1970, or in 2100, nothing changes", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const before = yield* kit.client.ensure()
        const { directory, registration } = kit.paths
        for (const seconds of [0, 4_102_444_800]) {
          const touch = () =>
            fs.readdirSync(directory).forEach((name) => fs.utimesSync(`${directory}/${name}`, seconds, seconds))
          touch()
          fs.rmSync(registration)
          yield* kit.eventually(
            "the owner has looked after its records meanwhile",
            () => (touch(), fs.existsSync(registration)),
            (back) => back
          )
          const [contender] = yield* kit.swarm(1)
          assert.deepStrictEqual(yield* contender!.exited, { code: 0 })
          assert.deepStrictEqual(yield* kit.client.ensure(), before)
        }
        assert.lengthOf(boots(kit), 1)
      })
    )
  )

  it.live(
    "Winner event loop pauses beyond the old stale timeout: ownership is not displaced; three clients wait, and a stream goes on",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const before = yield* kit.client.ensure()
          const chunks: Array<string> = []
          const streaming = yield* Stream.unwrap(
            Effect.map(kit.client.http.get("/ticks"), ({ stream }) => Stream.decodeText(stream))
          ).pipe(
            Stream.runForEach((chunk) => Effect.sync(() => void chunks.push(chunk))),
            Effect.forkScoped
          )
          yield* kit.client.http.post("/block")
          const said = yield* Effect.all(
            [1, 2, 3].map(() => clientSays("ensure", kit.paths.directory, { deadlineMs: 18_000 })),
            { concurrency: "unbounded" }
          )
          for (const { output, value } of said) assert.deepStrictEqual(value, before, output)
          assert.lengthOf(boots(kit), 1)
          const then = chunks.length
          yield* kit.eventually(
            "the stream goes on",
            () => chunks.length,
            (count) => count > then + 3
          )
          assert.isUndefined(streaming.pollUnsafe())
          for (const [, pid] of chunks.join("").matchAll(/"pid":(\d+)/g)) assert.strictEqual(Number(pid), before.pid)
        })
      )
  )
})
