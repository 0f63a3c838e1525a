import { assert, describe, it, vi } from "@effect/vitest"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { commandOf, keptLocked, service, snapshot } from "./commandLine.ts"
import { may } from "./elsewhere.ts"
import { terminal } from "./terminal.ts"
import { killed, withKit } from "./withKit.ts"

const change = (file: string, changed: (record: any) => object): void => {
  const record = JSON.parse(fs.readFileSync(file, "utf8"))
  fs.writeFileSync(file, JSON.stringify({ ...record, ...changed(record) }), { mode: 0o600 })
}

/** A process whose start identity is as it would be recorded in another pid namespace of this boot. */
const inOtherNamespace = ({ startIdentity }: { readonly startIdentity: string }) => {
  const [boot, , start, machine] = startIdentity.split("/")
  return { startIdentity: [boot, "pid:[1]", start, machine].join("/") }
}

/** The lease says nothing about anybody, so that the note alone does. */
const releaseLease = (file: string): void => {
  const database = new DatabaseSync(file)
  database.exec("UPDATE lease SET holder = NULL")
  database.close()
}

const namesIn = (kit: Testkit["Service"]) =>
  fs.readdirSync(kit.paths.directory).filter((name) => name !== "knobs.json" && name !== "boots")

const refuses = (kit: Testkit["Service"], code: number, said: RegExp, env: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const before = snapshot(kit.paths.directory)
    const ran = yield* service(kit.paths.directory, ["reset", "--yes"], { env })
    assert.match(ran.stderr, said)
    assert.deepStrictEqual([ran.code, ran.stdout], [code, ""])
    assert.deepStrictEqual(snapshot(kit.paths.directory), before)
  })

// several processes one after the other, each of which a busy machine may need seconds for
vi.setConfig({ testTimeout: 60_000 })

describe.concurrent("reset", () => {
  it.live("removes what a dead service left and nothing else: not its lock, no other service's, no link's target", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { directory, lock, log } = kit.paths
        yield* killed(kit)
        const precious = path.join(path.dirname(directory), "precious")
        fs.writeFileSync(precious, "the application's own")
        fs.symlinkSync(precious, `${log}.1`)
        const kept = ["index.db", "service.jsonl", "service-stable-work.json", "service.log.2"]
        for (const name of kept) fs.writeFileSync(path.join(directory, name), "kept")
        for (const name of ["service.json.4711.k3x9.tmp", "service.0123abcd.sock", "service.continuity.json"])
          fs.writeFileSync(path.join(directory, name), "left")
        const inode = fs.statSync(lock).ino
        const { code, stderr, stdout } = yield* service(directory, ["reset", "--yes"])
        assert.deepStrictEqual([code, stderr], [0, ""])
        assert.sameMembers(namesIn(kit), [...kept, "service.lock"])
        assert.strictEqual(fs.statSync(lock).ino, inode)
        assert.strictEqual(fs.readFileSync(precious, "utf8"), "the application's own")
        for (const name of [
          "service.json",
          "service.owner.json",
          "service.secret",
          "service.lease.db",
          "service.log.1"
        ])
          assert.include(stdout, `${name}`)
        const again = yield* service(directory, ["reset", "--yes"])
        assert.deepStrictEqual([again.code, again.stdout], [0, `There is nothing to remove in ${directory}.\n`])
        assert.strictEqual((yield* kit.client.ensure()).version, "1.0.0")
      })
    )
  )

  it.live("refuses while the service runs, also frozen, also when its lock file or its note was removed", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* kit.client.ensure()
        const owner = yield* kit.owner
        yield* owner.freeze
        const running = new RegExp(
          `Fixture is running \\(PID ${owner.pid}\\)\\. Nothing was removed\\. Run \`fixture service stop\` first\\.`
        )
        yield* refuses(kit, 69, running)
        fs.rmSync(kit.paths.lock)
        yield* refuses(kit, 69, running)
        fs.writeFileSync(kit.paths.lock, "", { mode: 0o600 })
        fs.rmSync(kit.paths.owner)
        yield* refuses(kit, 69, running)
        yield* owner.thaw
        yield* kit.eventually("its note is back", () => fs.existsSync(kit.paths.owner), Boolean)
      })
    )
  )

  it.live("refuses while another holds the lock, though no file says who", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        fs.writeFileSync(kit.paths.secret, "left", { mode: 0o600 })
        const holder = yield* Effect.acquireRelease(
          Effect.sync(() => childProcess.spawn("flock", [kit.paths.lock, "sh", "-c", "echo held; read -r _"])),
          (child) => Effect.sync(() => void child.stdin.end("\n"))
        )
        yield* Effect.promise(() => new Promise((resolve) => holder.stdout.once("data", resolve)))
        yield* refuses(kit, 69, /Fixture is running\. Nothing was removed\./)
        holder.stdin.end("\n")
        yield* Effect.promise(() => new Promise((resolve) => holder.once("exit", resolve)))
        const { code } = yield* service(kit.paths.directory, ["reset", "--yes"])
        assert.strictEqual(code, 0)
      })
    )
  )

  it.live(
    "refuses where it cannot be proved: an owner of another host, one that cannot be seen, a lock that is not to be had",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* killed(kit)
          releaseLease(kit.paths.lease)
          yield* refuses(kit, 71, /No lock that holds could be taken .* Nothing was removed\./, {
            HOLDFAST_LOCK_PRIMITIVE: "none"
          })
          const note = fs.readFileSync(kit.paths.owner, "utf8")
          change(kit.paths.owner, () => ({ host: "elsewhere", startIdentity: "boot/pid:[1]/1/machine" }))
          yield* refuses(kit, 69, /Fixture runs on host elsewhere, or did; that cannot be told from here\./)
          // of another namespace of this machine: the lock that it was recorded with is ours now, so it is gone
          fs.writeFileSync(kit.paths.owner, note)
          change(kit.paths.owner, (record) => ({ ...inOtherNamespace(record), lockInode: "1:2" }))
          yield* refuses(kit, 69, /Whether Fixture runs \(PID \d+\) cannot be told from here\./)
          fs.writeFileSync(kit.paths.owner, note)
          change(kit.paths.owner, inOtherNamespace)
          assert.strictEqual((yield* service(kit.paths.directory, ["reset", "--yes"])).code, 0)
        })
      )
  )

  it.live("refuses while another process keeps the lease locked, and removes one that is damaged", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* killed(kit)
        yield* Effect.andThen(
          keptLocked(kit.paths.lease),
          refuses(kit, 69, /Another process keeps the lease .* locked\. Nothing was removed\./)
        ).pipe(Effect.scoped)
        fs.writeFileSync(kit.paths.lease, "damaged")
        assert.strictEqual((yield* service(kit.paths.directory, ["reset", "--yes"])).code, 0)
        assert.deepStrictEqual(namesIn(kit), ["service.lock"])
      })
    )
  )

  it.live("holds the service's lock while it removes, and lets it go at its end", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* killed(kit)
        const { code } = yield* service(kit.paths.directory, ["reset", "--yes"], {
          env: { NODE_OPTIONS: `--import=${new URL("./fixture/atUnlink.ts", import.meta.url).href}` }
        })
        assert.strictEqual(code, 0)
        const held = fs.readFileSync(path.join(kit.paths.directory, "held"), "utf8").trimEnd().split("\n")
        assert.isAbove(held.length, 4)
        assert.deepStrictEqual([...new Set(held)], ["true"])
        assert.strictEqual(childProcess.spawnSync("flock", ["-n", kit.paths.lock, "true"]).status, 0)
      })
    )
  )

  it.live("leaves a directory in a file's place, and says so", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        fs.mkdirSync(kit.paths.log)
        fs.writeFileSync(kit.paths.secret, "left", { mode: 0o600 })
        const { code, stderr, stdout } = yield* service(kit.paths.directory, ["reset", "--yes"])
        assert.strictEqual(code, 73)
        assert.include(stdout, "Removed service.secret from")
        assert.include(stderr, `Cannot remove ${kit.paths.log}: there is a directory where a file belongs.`)
        assert.isTrue(fs.statSync(kit.paths.log).isDirectory())
      })
    )
  )

  it.live("without a terminal and without --yes is one clear line, and nothing is changed", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* killed(kit)
        const before = snapshot(kit.paths.directory)
        const { code, stderr } = yield* service(kit.paths.directory, ["reset"])
        assert.strictEqual(code, 64)
        assert.include(stderr, "`fixture service reset` removes files, and there is no terminal to ask on. Add --yes")
        assert.deepStrictEqual(snapshot(kit.paths.directory), before)
      })
    )
  )

  it.live.skipIf(!may.terminal)("asks on a terminal: no and Ctrl-C remove nothing, yes does (needs python3)", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        yield* killed(kit)
        const { command } = commandOf(kit.paths.directory, ["reset"])
        const before = snapshot(kit.paths.directory)
        const answer = (keys: string, sentence: string) =>
          Effect.gen(function* () {
            const window = yield* terminal(["env", `FIXTURE_STATE_DIR=${kit.paths.directory}`, ...command])
            yield* kit.eventually("it asks", window.output, (text) => text.includes("Remove service"))
            // the question is there a moment before it listens: what is typed in between may be lost
            let typed = 0
            const typing = () => {
              if (performance.now() - typed > 1000) {
                window.type(keys)
                typed = performance.now()
              }
              return window.output()
            }
            yield* kit.eventually("it has answered", typing, (text) => text.includes(sentence))
          }).pipe(Effect.scoped)
        yield* answer("n", "Nothing was removed.")
        yield* answer("\u0003", "Nothing was removed.")
        assert.deepStrictEqual(snapshot(kit.paths.directory), before)
        yield* answer("y", "Removed service.json")
        assert.deepStrictEqual(namesIn(kit), ["service.lock"])
      })
    )
  )
})
