import { assert, describe, it } from "@effect/vitest"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import * as identity from "@holdfast/lock/identity"
import { Effect, Fiber, Layer, Schedule, Stream } from "effect"
import * as fs from "node:fs"
import { boots, isReady, withKit } from "./withKit.ts"

const get = (url: string) => Effect.promise(() => fetch(url))

describe("lifecycle", () => {
  it.live(
    "Application becomes ready: status changes once from starting to ready, and is starting from the boot's first second",
    () =>
      withKit({ bootMs: 10_000, progress: "Reading everything…" }, (kit) =>
        Effect.gen(function* () {
          const seen: Array<string> = []
          yield* kit.client.changes.pipe(
            Stream.runForEach((state) =>
              Effect.sync(() => void (seen.at(-1) !== state.status.type && seen.push(state.status.type)))
            ),
            Effect.forkScoped
          )
          yield* kit.swarm(1)
          const starting = yield* kit.waitFor("it is starting", (state) => state.status.type === "starting")
          const firstSeen = performance.now()
          yield* kit.waitFor(
            "the application reports what it does",
            (state) => state.status.type === "starting" && state.status.progress === "Reading everything…"
          )
          const url = starting.registration!.url
          const asked = yield* Effect.gen(function* () {
            const before = performance.now()
            const response = yield* get(`${url}/hello`)
            const body = (yield* Effect.promise(() => response.json())) as { readonly code: string }
            return {
              status: response.status,
              retry: response.headers.get("retry-after"),
              code: body.code,
              ms: performance.now() - before
            }
          }).pipe(
            Effect.repeat({ schedule: Schedule.spaced("100 millis"), while: ({ status }) => status === 503 }),
            Effect.forkScoped
          )
          const answers: Array<string> = []
          yield* kit.client.state.pipe(
            Effect.tap((state) => Effect.sync(() => answers.push(state.status.type))),
            Effect.repeat({ schedule: Schedule.spaced("100 millis"), until: (state) => state.status.type === "ready" }),
            Effect.timeout("15 seconds")
          )
          // the boot alone takes ten seconds: whoever saw it starting nine before its end saw it in its first
          assert.isAbove(performance.now() - firstSeen, 9000)
          // every single probe was answered by the owner: first starting, then ready, never anything else
          assert.deepStrictEqual([...new Set(answers)], ["starting", "ready"])
          assert.isAbove(answers.length, 50)
          const last = yield* Fiber.join(asked)
          assert.strictEqual(last.status, 401) // ready by now: the application's door, and no token
          yield* kit.eventually(
            "who follows has seen it too",
            () => seen,
            (types) => types.includes("ready")
          )
          assert.deepStrictEqual(
            seen.filter((type) => type !== "missing"),
            ["starting", "ready"]
          )
          assert.strictEqual(boots(kit).length, 1)
        })
      )
  )
})

describe.concurrent("lifecycle", () => {
  it.live("Application request arrives during startup: immediate retryable 503", () =>
    withKit({ bootMs: 5000 }, (kit) =>
      Effect.gen(function* () {
        yield* kit.swarm(1)
        const state = yield* kit.waitFor("it is starting", ({ status }) => status.type === "starting")
        // the boot itself is over before the event loop is measured
        yield* kit.eventually(
          "the application boots",
          () => boots(kit),
          (pids) => pids.length === 1
        )
        const response = yield* get(`${state.registration!.url}/hello`).pipe(Effect.timeout("1 second"))
        assert.strictEqual(response.status, 503)
        assert.strictEqual(response.headers.get("retry-after"), "1")
        assert.strictEqual(
          ((yield* Effect.promise(() => response.json())) as { code: string }).code,
          "service_starting"
        )
      })
    )
  )

  it.live("a request through the client waits while the service starts", () =>
    withKit({ bootMs: 1500 }, (kit) =>
      Effect.gen(function* () {
        yield* kit.swarm(1)
        const owner = yield* kit.owner
        const response = yield* kit.client.http.get("/hello")
        assert.strictEqual(yield* response.text, `hello from ${owner.pid}`)
      })
    )
  )

  it.live(
    "Application initialization fails: actionable failed status; owner stays bound and holds the lock, and does not boot again",
    () =>
      withKit({ bootFail: { message: "The index is broken.", action: "Run: repair" } }, (kit) =>
        Effect.gen(function* () {
          yield* kit.swarm(1)
          const state = yield* kit.waitFor("it is failed", ({ status }) => status.type === "failed")
          assert.deepStrictEqual(state.status, {
            type: "failed",
            message: "The index is broken.",
            action: "Run: repair"
          })
          const errors = yield* Effect.all(
            [kit.client.launch(), kit.client.ensure(), kit.client.http.get("/hello")].map((call) =>
              Effect.flip(call as Effect.Effect<unknown, { readonly _tag: string; readonly message: string }>)
            ),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(
            errors.map(({ _tag, message }) => [_tag, message]),
            Array.from({ length: 3 }, () => ["ServiceFailed", "The index is broken."])
          )
          const losers = yield* kit.swarm(3)
          yield* Effect.forEach(losers, (loser) => loser.exited)
          const after = yield* kit.client.state
          assert.deepStrictEqual(after, state)
          assert.strictEqual(boots(kit).length, 1)
          const refused = yield* get(`${state.registration!.url}/hello`)
          assert.strictEqual(refused.status, 503)
          assert.isNull(refused.headers.get("retry-after"))
        })
      )
  )

  it.live("a boot that dies shows a sentence without a stack, and the log has the cause", () =>
    withKit({ bootFail: "defect" }, (kit) =>
      Effect.gen(function* () {
        const error = yield* kit.client.launch().pipe(Effect.flip)
        assert.strictEqual(error._tag, "ServiceFailed")
        assert.strictEqual(`${error.message} ${error.action}`, "Fixture could not start. Run `fixture service logs`.")
        assert.include(fs.readFileSync(kit.paths.log, "utf8"), "a secret path /etc/shadow")
      })
    )
  )

  it.live("a failure after ready ends the process with a non-zero code, and the next client gets a new one", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const [first] = yield* kit.swarm(1)
        yield* isReady(kit)
        yield* Effect.ignore(kit.client.http.post("/crash"))
        assert.deepStrictEqual(yield* first!.exited, { code: 70 })
        assert.include(fs.readFileSync(kit.paths.log, "utf8"), "crashed on request")
        const next = yield* kit.client.ensure()
        assert.notStrictEqual(next.pid, first!.pid)
        assert.strictEqual(yield* (yield* kit.client.http.get("/hello")).text, `hello from ${next.pid}`)
      })
    )
  )

  it.live(
    "Registration is deleted while owner runs: owner republishes it within one assertion interval, also a damaged or foreign one",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* kit.swarm(1)
          const before = yield* isReady(kit)
          const text = fs.readFileSync(kit.paths.registration, "utf8")
          const foreign = JSON.stringify({ ...before.registration, pid: process.pid, instanceID: "somebody-else" })
          for (const harm of [
            () => fs.rmSync(kit.paths.registration),
            () => fs.writeFileSync(kit.paths.registration, "{ garb"),
            () => fs.writeFileSync(kit.paths.registration, foreign)
          ]) {
            harm()
            yield* kit.eventually(
              "the registration is back",
              () => fs.existsSync(kit.paths.registration) && fs.readFileSync(kit.paths.registration, "utf8") === text,
              (healed) => healed,
              { within: "5500 millis" }
            )
          }
          assert.deepStrictEqual(yield* isReady(kit), before)
          assert.strictEqual(boots(kit).length, 1)
        })
      )
  )

  it.live(
    "Registration is deleted while owner runs: no second owner initializes, and three clients attach to the same owner",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          yield* kit.swarm(1)
          const before = yield* isReady(kit)
          fs.rmSync(kit.paths.registration)
          const contenders = yield* kit.swarm(2)
          yield* Effect.forEach(contenders, (contender) => contender.exited)
          const found = yield* Effect.forEach(
            [1, 2, 3],
            () =>
              Effect.flatMap(ServiceClient, (client) => client.ensure()).pipe(
                Effect.provide(Layer.fresh(ServiceClient.layer(kit.spec)))
              ),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(
            found.map(({ instanceID }) => instanceID),
            Array.from({ length: 3 }, () => before.registration!.instanceID)
          )
          assert.strictEqual(boots(kit).length, 1)
        })
      )
  )

  it.live("a stop reports stopping, lets a request in flight finish, removes its registration and exits with 0", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const [owner] = yield* kit.swarm(1)
        yield* isReady(kit)
        const seen: Array<string> = []
        yield* kit.client.changes.pipe(
          Stream.runForEach((state) => Effect.sync(() => void seen.push(state.status.type))),
          Effect.forkScoped
        )
        const slow = yield* kit.client.http.get("/slow").pipe(
          Effect.flatMap((response) => response.text),
          Effect.forkScoped
        )
        yield* kit.eventually(
          "the change stream has begun",
          () => seen,
          (types) => types.includes("ready")
        )
        const outcome = yield* kit.client.stop()
        assert.strictEqual(outcome._tag, "Stopped")
        assert.strictEqual(yield* Fiber.join(slow), "slow")
        assert.deepStrictEqual(yield* owner!.exited, { code: 0 })
        assert.isFalse(fs.existsSync(kit.paths.registration))
        assert.include(seen, "stopping")
        assert.strictEqual((yield* kit.client.stop())._tag, "NotRunning")
      })
    )
  )

  it.live("a stop does not wait longer than the drain deadline for a request that never ends", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const [owner] = yield* kit.swarm(1)
        yield* isReady(kit)
        yield* Effect.ignore(kit.client.http.get("/for-ever")).pipe(Effect.forkScoped)
        yield* Effect.ignore(kit.client.http.get("/hello"))
        const started = performance.now()
        assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
        assert.deepStrictEqual(yield* owner!.exited, { code: 0 })
        assert.isBelow(performance.now() - started, 4000) // drain 1 s, and a machine that is busy
      })
    )
  )

  it.live(
    "a stop ends the application's event streams at once, so that requests and the application get their time",
    () =>
      withKit({ closeMs: 200 }, (kit) =>
        Effect.gen(function* () {
          const [owner] = yield* kit.swarm(1)
          yield* isReady(kit)
          let ticks = 0
          yield* kit.client.http.get("/ticks").pipe(
            Effect.flatMap((response) =>
              Stream.runForEach(response.stream, () => Effect.sync(() => void (ticks += 1)))
            ),
            Effect.ignore,
            Effect.forkScoped
          )
          yield* kit.eventually(
            "the stream is open",
            () => ticks,
            (count) => count > 0
          )
          const slow = yield* kit.client.http.get("/slow").pipe(
            Effect.flatMap((response) => response.text),
            Effect.forkScoped
          )
          yield* Effect.ignore(kit.client.http.get("/hello"))
          assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
          assert.strictEqual(yield* Fiber.join(slow), "slow")
          assert.deepStrictEqual(yield* owner!.exited, { code: 0 })
          assert.isTrue(fs.existsSync(`${kit.paths.directory}/closed`), "the application was closed")
          assert.isFalse(fs.existsSync(kit.paths.owner), "nobody is said to own")
        })
      )
  )

  it.live(
    "a boot that failed is shown by each launch; only one that failed more than ten seconds ago is tried again, once",
    () =>
      withKit({ bootFail: { message: "No.", action: "" } }, (kit) =>
        Effect.gen(function* () {
          const fails = Effect.flip(kit.client.launch())
          assert.strictEqual((yield* fails)._tag, "ServiceFailed")
          // however long the boot had taken: what counts is when it failed
          const note = JSON.parse(fs.readFileSync(kit.paths.owner, "utf8")) as { readonly failedAt: number }
          fs.writeFileSync(kit.paths.owner, JSON.stringify({ ...note, startedAt: 0 }))
          assert.strictEqual((yield* fails)._tag, "ServiceFailed")
          assert.strictEqual(boots(kit).length, 1)
          fs.writeFileSync(kit.paths.owner, JSON.stringify({ ...note, failedAt: note.failedAt - 11_000 }))
          assert.strictEqual((yield* fails)._tag, "ServiceFailed")
          assert.strictEqual(boots(kit).length, 2)
        })
      )
  )

  it.live("SIGTERM and SIGINT stop gracefully; SIGHUP does nothing", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        for (const signal of ["SIGTERM", "SIGINT"] as const) {
          const [owner] = yield* kit.swarm(1)
          const { registration } = yield* isReady(kit)
          process.kill(owner!.pid, "SIGHUP")
          assert.strictEqual((yield* kit.client.state).registration?.instanceID, registration?.instanceID)
          process.kill(owner!.pid, signal)
          assert.deepStrictEqual(yield* owner!.exited, { code: 0 })
          assert.isFalse(fs.existsSync(kit.paths.registration))
        }
      })
    )
  )

  it.live("a stop while it boots ends it", () =>
    withKit({ bootMs: 60_000 }, (kit) =>
      Effect.gen(function* () {
        const [owner] = yield* kit.swarm(1)
        yield* kit.owner
        assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
        assert.deepStrictEqual(yield* owner!.exited, { code: 0 })
      })
    )
  )

  it.live("child processes of the service, however started, keep nothing of it when it dies", () =>
    withKit({ children: true }, (kit) =>
      Effect.gen(function* () {
        yield* kit.swarm(1)
        const owner = yield* kit.owner
        yield* isReady(kit)
        const pids = fs.readFileSync(`${kit.paths.directory}/children`, "utf8").split("\n").map(Number)
        const children = pids.map((pid) => identity.ofPid(pid)!)
        for (const { pid } of children) {
          const open = fs.readdirSync(`/proc/${pid}/fd`).map((fd) => fs.readlinkSync(`/proc/${pid}/fd/${fd}`))
          assert.deepStrictEqual(
            open.filter((file) => file.startsWith(kit.paths.directory)),
            [],
            "no lock, no database, no log"
          )
        }
        yield* owner.kill
        yield* owner.exited
        const next = yield* kit.client.ensure()
        assert.notStrictEqual(next.pid, owner.pid)
        for (const child of children) {
          assert.strictEqual(identity.state(child), "alive")
          assert.isTrue(identity.signal(child, "SIGKILL"))
        }
      })
    )
  )
})
