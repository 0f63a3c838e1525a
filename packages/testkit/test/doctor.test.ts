import { assert, describe, it, vi } from "@effect/vitest"
import * as Doctor from "@holdfast/client/Doctor"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, type Scope } from "effect"
import * as fs from "node:fs"
import * as http from "node:http"
import type * as net from "node:net"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { keptLocked, type RunOptions, service, snapshot, changesBy } from "./commandLine.ts"
import { may } from "./elsewhere.ts"
import { sessionOf } from "./session.ts"
import { killed, withKit } from "./withKit.ts"

interface Finding {
  readonly check: string
  readonly verdict: "fine" | "wrong" | "unknown"
  readonly saw: string
  readonly action?: string
}

const examine = (directory: string, options?: RunOptions) =>
  Effect.map(service(directory, ["doctor", "--json"], options), (ran) => {
    assert.strictEqual(ran.stderr, "")
    assert.lengthOf(ran.stdout.trimEnd().split("\n"), 1)
    const { findings, fine } = JSON.parse(ran.stdout) as { readonly fine: boolean; readonly findings: Array<Finding> }
    assert.strictEqual(ran.code, fine ? 0 : 1)
    return { ...ran, findings }
  })

const checks =
  "directory,permissions,filesystem,lock primitive,holder,registration,endpoint,secret,lease,clock,version,environment,log tail"

const change = (file: string, changed: object): void => {
  const record = JSON.parse(fs.readFileSync(file, "utf8"))
  fs.writeFileSync(file, JSON.stringify({ ...record, ...changed }), { mode: 0o600 })
}

const inLease = (file: string, sql: string): void => {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

/** A program that listens where the service is recorded to be, and what it was told. */
const stranger = (kit: Testkit["Service"], answer: (response: http.ServerResponse) => void) =>
  Effect.acquireRelease(
    Effect.callback<http.Server>((resume) => {
      const server = http.createServer((_, response) => answer(response))
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => (server.close(), server.closeAllConnections()))
  ).pipe(
    Effect.map((server) => {
      const { port } = server.address() as net.AddressInfo
      change(kit.paths.registration, { url: `http://127.0.0.1:${port}` })
      fs.rmSync(kit.paths.owner) // by its note the owner would be known to be dead, and not be dialled
    })
  )

interface Case {
  readonly what: string
  /** The first thing that is wrong; nothing where there is none. */
  readonly first?: string
  readonly saw?: RegExp
  readonly action?: RegExp
  readonly prepare: (kit: Testkit["Service"]) => Effect.Effect<unknown, unknown, Scope.Scope>
}

const sync =
  (body: (kit: Testkit["Service"]) => unknown) =>
  (kit: Testkit["Service"]): Effect.Effect<unknown> =>
    Effect.sync(() => body(kit))
const afterKill = (body: (kit: Testkit["Service"]) => unknown) => (kit: Testkit["Service"]) =>
  Effect.andThen(
    killed(kit),
    Effect.sync(() => body(kit))
  )

/** Nobody runs in any of these. */
const cases: ReadonlyArray<Case> = [
  {
    what: "a directory that is a file",
    first: "directory",
    saw: /is not a directory/,
    action: /Remove what is there/,
    prepare: sync(({ paths }) => {
      fs.rmSync(paths.directory, { recursive: true })
      fs.writeFileSync(paths.directory, "mine")
    })
  },
  {
    what: "a directory that others may write to",
    first: "permissions",
    saw: /Other users may write/,
    action: /^Run: chmod 700/,
    prepare: sync(({ paths }) => fs.chmodSync(paths.directory, 0o777))
  },
  {
    what: "a secret that others may read",
    first: "secret",
    saw: /Other users may read the secret/,
    action: /rm '/,
    prepare: afterKill(({ paths }) => fs.chmodSync(paths.secret, 0o644))
  },
  {
    what: "a damaged lease",
    first: "lease",
    saw: /it is damaged/,
    action: /remove the file/,
    prepare: afterKill(({ paths }) => fs.writeFileSync(paths.lease, "damaged"))
  },
  {
    what: "a lease of a newer version",
    first: "lease",
    saw: /a newer version wrote it/,
    action: /Update this application/,
    prepare: afterKill(({ paths }) => inLease(paths.lease, "PRAGMA user_version = 99"))
  },
  {
    what: "a lease that another process keeps locked",
    first: "lease",
    saw: /another process keeps it locked/,
    action: /Find what holds it open/,
    prepare: (kit) => Effect.andThen(killed(kit), keptLocked(kit.paths.lease))
  },
  {
    what: "an owner on another host",
    first: "holder",
    saw: /runs on host elsewhere, or did/,
    action: /on that host/,
    prepare: afterKill(({ paths }) =>
      change(paths.owner, { host: "elsewhere", startIdentity: "boot/pid:[1]/1/machine" })
    )
  },
  {
    what: "a stranger that hangs on the recorded port",
    first: "endpoint",
    saw: /does not answer at http/,
    action: /service restart/,
    prepare: (kit) =>
      Effect.andThen(
        killed(kit),
        stranger(kit, () => undefined)
      )
  },
  {
    what: "a stranger that answers on the recorded port",
    first: "endpoint",
    saw: /^The service is not at http.*: another program listens there\.$/,
    action: /service restart/,
    prepare: (kit) =>
      Effect.andThen(
        killed(kit),
        stranger(kit, (response) => response.end('{"healthy":true}'))
      )
  },
  {
    what: "a log that is a directory",
    first: "log tail",
    saw: /there is a directory where a file belongs/,
    action: /Remove it/,
    prepare: sync(({ paths }) => fs.mkdirSync(paths.log))
  },
  { what: "no directory", prepare: sync(({ paths }) => fs.rmSync(paths.directory, { recursive: true })) },
  { what: "all that a killed service leaves", prepare: killed },
  {
    what: "records of no use",
    prepare: afterKill(({ paths }) => {
      for (const file of [paths.registration, paths.owner, paths.secret]) fs.writeFileSync(file, '{"half')
    })
  }
]

// several processes one after the other, each of which a busy machine may need seconds for
vi.setConfig({ testTimeout: 60_000 })

describe.concurrent("doctor changes nothing, and finds", () => {
  for (const { action, first, prepare, saw, what } of cases) {
    it.live(`${what}: ${first === undefined ? "nothing to do" : `first the ${first}`}`, () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* prepare(kit)
          const before = snapshot(path.dirname(kit.paths.directory))
          const { findings } = yield* examine(kit.paths.directory)
          assert.deepStrictEqual(snapshot(path.dirname(kit.paths.directory)), before)
          assert.strictEqual(findings.map(({ check }) => check).join(), checks)
          const wrong = findings.find(({ verdict }) => verdict === "wrong")
          assert.strictEqual(wrong?.check, first, JSON.stringify(findings))
          if (saw !== undefined) assert.match(wrong!.saw, saw)
          if (action !== undefined) assert.match(wrong!.action!, action)
        })
      )
    )
  }
})

describe.concurrent("doctor", () => {
  it.live("finds nothing wrong with a service that is ready, prints no secret, and a line for each check", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const ready = yield* kit.client.ensure()
        const { directory } = kit.paths
        const { changes, value } = yield* changesBy(kit, directory, examine(directory))
        assert.deepStrictEqual(changes, [])
        assert.strictEqual(value.code, 0, value.stdout)
        const of = (check: string) => value.findings.find((finding) => finding.check === check)!.saw
        assert.match(of("holder"), new RegExp(`^PID ${ready.pid} since .*, instance ${ready.instanceID}$`))
        assert.strictEqual(of("registration"), `${ready.url}, PID ${ready.pid}`)
        assert.strictEqual(of("endpoint"), "it answers: ready")
        assert.match(of("lease"), new RegExp(`^epoch 1, held by PID ${ready.pid}, renewed \\d+ s ago$`))
        const page = yield* service(directory, ["doctor"])
        assert.match(page.stdout, /^ok {2}directory /)
        assert.match(page.stdout, /\nNothing is wrong with Fixture\.\n$/)
        assert.lengthOf(page.stdout.trimEnd().split("\n"), 14)
        const { texts } = yield* sessionOf(kit)
        for (const text of texts) assert.isFalse((value.stdout + page.stdout).includes(text))
      })
    )
  )

  it.live(
    "says that the service is of another version, that its program was changed since, and within five seconds that it does not answer",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* kit.client.ensure()
          const { directory } = kit.paths
          const version = (findings: ReadonlyArray<Finding>) => findings.find(({ check }) => check === "version")!
          const other = version((yield* examine(directory, { env: { FX_VERSION: "2.0.0" } })).findings)
          assert.deepStrictEqual(
            [other.verdict, other.saw, other.action],
            ["wrong", "v1.0.0 runs, and this program is v2.0.0.", "Run `fixture service restart`."]
          )
          change(kit.paths.owner, { startedAt: 0 })
          const older = version((yield* examine(directory)).findings)
          assert.match(older.saw, /^v1\.0\.0 runs, and its program .*daemon\.(ts|mjs) was changed since it started\.$/)
          assert.strictEqual(older.action, "Run `fixture service restart`.")
          assert.match((yield* service(directory, ["status"])).stdout, /; its program was changed since\.\n$/)
          const owner = yield* kit.owner
          yield* owner.freeze
          const before = snapshot(directory)
          const { findings } = yield* examine(directory)
          assert.deepStrictEqual(snapshot(directory), before)
          const started = performance.now()
          yield* Doctor.gather(kit.spec)
          assert.isBelow(performance.now() - started, 5000)
          yield* owner.thaw
          assert.match(findings.find(({ check }) => check === "endpoint")!.saw, /^It does not answer at /)
        })
      )
  )

  it.live.skipIf(!may.becomeNobody)(
    "as another user, or where nothing can be made, says so and leaves the rest open (needs setpriv)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* kit.client.ensure()
          const { directory } = kit.paths
          const asNobody = yield* kit.otherUser()
          for (const place of [path.dirname(directory), directory]) fs.chmodSync(place, 0o755)
          const wrongIn = (place: string, before: ReadonlyArray<string>) =>
            Effect.map(examine(place, { before }), ({ findings }) =>
              findings.find(({ verdict }) => verdict === "wrong")
            )
          const theirs = yield* changesBy(kit, directory, wrongIn(directory, asNobody))
          assert.deepStrictEqual(theirs.changes, [])
          assert.match(theirs.value!.saw, /belongs to another user \(uid 0\)/)
          assert.strictEqual(theirs.value!.check, "permissions")
          const below = path.join(directory, "below", "it")
          const cannot = yield* wrongIn(below, asNobody)
          assert.match(cannot!.saw, /Cannot make the state directory in .*: permission denied/)
          fs.chmodSync(directory, 0o700)
          const closed = yield* wrongIn(path.join(directory, "below"), asNobody)
          assert.match(closed!.saw, /Cannot use the state directory .*: permission denied/)
          assert.isFalse(fs.existsSync(path.dirname(below)))
        })
      )
  )
})
