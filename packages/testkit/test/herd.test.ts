import { assert, describe, it } from "@effect/vitest"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { enter, inheritable, release } from "@holdfast/lock/gate"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Context, Effect, Fiber, Layer, Stream } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import { clientSays, environmentOf, type Verb } from "./elsewhere.ts"
import { runtimes } from "./runtimes.ts"
import { boots, withKit } from "./withKit.ts"
import { programOf } from "./fixture/programs.ts"

type Kit = Testkit["Service"]

/** A daemon that writes down each start of it; the first `failures` end at once. */
const counting = programOf("flaky")
const countingIn = (kit: Kit, failures = 0): ServiceSpec => {
  fs.writeFileSync(`${kit.paths.directory}/failures`, String(failures))
  return {
    ...kit.spec,
    entry: { command: process.execPath, args: ["--conditions", "development", counting] }
  }
}
const starts = (kit: Kit): ReadonlyArray<string> => {
  const file = `${kit.paths.directory}/starts`
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n") : []
}

/** A client of its own in this process. */
const as = <A, E, R>(spec: ServiceSpec, use: (client: ServiceClient["Service"]) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(ServiceClient, use).pipe(Effect.provide(Layer.fresh(ServiceClient.layer(spec))))

/** Client processes that have all they need, released at the same moment. */
const herd = (kit: Kit, count: number, verb: Verb, runtimeOf: (index: number) => string = () => process.execPath) =>
  Effect.gen(function* () {
    const barrier = fs.mkdtempSync(`${kit.paths.directory}/barrier-`)
    const env = { ENTRY: counting, BARRIER: barrier }
    const clients = yield* Effect.forEach(Array.from({ length: count }), (_, index) => {
      const options = { env, runtime: runtimeOf(index), deadlineMs: 30_000, timeoutMs: 60_000 }
      return Effect.forkChild(clientSays(verb, kit.paths.directory, options))
    })
    yield* kit.eventually(
      `${count} clients wait at the barrier`,
      () => fs.readdirSync(barrier).length,
      (waiting) => waiting === count,
      { within: "60 seconds" }
    )
    fs.writeFileSync(`${barrier}/go`, "")
    return yield* Effect.forEach(clients, Fiber.join)
  })

describe("cold clients at once", () => {
  for (const count of [10, 50]) {
    it.live(
      `${count} processes start one contender, and all attach to one instance`,
      () =>
        withKit({}, (kit) =>
          Effect.gen(function* () {
            countingIn(kit)
            const said = yield* herd(kit, count, "launch")
            const instances = new Set(said.map(({ output, value }) => value?.instanceID ?? output))
            assert.strictEqual(instances.size, 1, [...instances].join("\n"))
            assert.lengthOf(starts(kit), 1)
            assert.deepStrictEqual(boots(kit), starts(kit).map(Number))
          })
        ),
      120_000
    )
  }

  it.live(
    "a failing boot seen by fifty clients is one boot, and one failure with its cause for all",
    () =>
      withKit({ bootFail: { message: "The index is broken.", action: "Repair it." } }, (kit) =>
        Effect.gen(function* () {
          countingIn(kit)
          const said = yield* herd(kit, 50, "launch")
          for (const { error, output } of said) assert.strictEqual(error?.message, "The index is broken.", output)
          assert.lengthOf(boots(kit), 1)
          assert.lengthOf(starts(kit), 1)
        })
      ),
    120_000
  )
})

describe.concurrent("the spawn lock", () => {
  const installed = runtimes.filter(({ path }) => path !== undefined)
  const lacking = runtimes.filter(({ path }) => path === undefined).map(({ name }) => name)
  it.live.skipIf(installed.length < 2)(
    `twelve under different runtimes start one contender, which inherits the lock of whichever was first${lacking.length > 0 ? ` (${lacking.join(", ")} not installed: npm run runtimes)` : ""}`,
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          countingIn(kit)
          const said = yield* herd(kit, 12, "launch", (index) => installed[index % installed.length]!.path!)
          const instances = new Set(said.map(({ output, value }) => value?.instanceID ?? output))
          assert.strictEqual(instances.size, 1, [...instances].join("\n"))
          assert.lengthOf(starts(kit), 1)
        })
      ),
    60_000
  )

  for (const { name, path } of runtimes) {
    it.live.skipIf(path === undefined)(
      `a contender under ${name} lets the lock go once it is registered${path === undefined ? ` (${name} is not installed: npm run runtimes)` : ""}`,
      () =>
        withKit({ bootMs: 3000 }, (kit) =>
          Effect.gen(function* () {
            countingIn(kit)
            const said = yield* Effect.forkChild(
              clientSays("launch", kit.paths.directory, { env: { ENTRY: counting }, runtime: path! })
            )
            const { health } = yield* kit.waitFor("it is starting", ({ status }) => status.type === "starting")
            const opened = fs.readdirSync(`/proc/${health!.pid}/fd`).flatMap((descriptor) => {
              try {
                return [fs.readlinkSync(`/proc/${health!.pid}/fd/${descriptor}`)]
              } catch {
                return [] // closed meanwhile
              }
            })
            assert.include(opened, kit.paths.lock)
            assert.notInclude(opened, kit.paths.spawnLock)
            yield* Fiber.join(said)
          })
        )
    )
  }

  it.live("a contender that takes long before it registers is waited for, as long as it gets on", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const spec = countingIn(kit)
        fs.writeFileSync(`${kit.paths.directory}/slow`, "5000")
        const clients = Array.from({ length: 5 }, () => as(spec, (client) => client.launch()))
        const ready = yield* Effect.all(clients, { concurrency: "unbounded" })
        assert.strictEqual(new Set(ready.map(({ instanceID }) => instanceID)).size, 1)
        assert.lengthOf(starts(kit), 1)
      })
    )
  )

  it.live("the client that started it is killed at once: its contender serves the others all the same", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const spec = countingIn(kit)
        fs.writeFileSync(`${kit.paths.directory}/slow`, "1000")
        const first = childProcess.spawn(
          process.execPath,
          ["--conditions", "development", programOf("client"), "launch", kit.paths.directory],
          { env: environmentOf({ env: { ENTRY: counting } }), stdio: "ignore" }
        )
        yield* kit.eventually(
          "its contender was started",
          () => starts(kit).length,
          (count) => count === 1
        )
        first.kill("SIGKILL")
        const { pid } = yield* as(spec, (client) => client.launch())
        assert.deepStrictEqual(starts(kit).map(Number), [pid])
      })
    )
  )
})

/** A process that has taken the spawn lock and then stands still. */
const frozenHolder = (kit: Kit) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const outcome = await enter(kit.paths.spawnLock)
      if (outcome._tag !== "Acquired") throw new Error(outcome._tag)
      const child = childProcess.spawn("sleep", ["600"], {
        stdio: ["ignore", "ignore", "ignore", inheritable(outcome.lock)!]
      })
      release(outcome.lock)
      child.kill("SIGSTOP")
      return child
    }),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

// contenders are counted: nothing else of this file runs meanwhile
describe("the spawn lock", () => {
  it.live(
    "where there is none to be had, everybody may start a contender: those that lose leave within two seconds, and all attach",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          countingIn(kit)
          fs.mkdirSync(kit.paths.spawnLock)
          const said = yield* herd(kit, 10, "launch")
          assert.strictEqual(new Set(said.map(({ output, value }) => value?.instanceID ?? output)).size, 1)
          assert.isAtLeast(starts(kit).length, 2, "it is the lock that keeps the others from it")
          yield* kit.eventually(
            "the owner is alone",
            () => kit.processes().map(({ pid }) => pid),
            (pids) => pids.length === 1,
            { within: "2 seconds" }
          )
          assert.lengthOf(boots(kit), 1)
          fs.rmdirSync(kit.paths.spawnLock)
        })
      ),
    60_000
  )

  it.live(
    "who holds the spawn lock is frozen: a handful of contenders at most, and all attach",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          countingIn(kit)
          const frozen = yield* frozenHolder(kit)
          const before = performance.now()
          const said = yield* herd(kit, 20, "launch")
          const took = performance.now() - before
          assert.strictEqual(new Set(said.map(({ output, value }) => value?.instanceID ?? output)).size, 1)
          assert.isAtMost(starts(kit).length, 5)
          assert.lengthOf(boots(kit), 1)
          assert.isAbove(took, 3000)
          frozen.kill("SIGKILL")
        })
      ),
    120_000
  )
})

describe.concurrent("a service that cannot start", () => {
  it.live("one that ends at once is started a few times for fifty clients, and all are told why", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const spec = countingIn(kit, 1000)
        const clients = Array.from({ length: 50 }, () => as(spec, (client) => Effect.flip(client.launch())))
        const errors = yield* Effect.all(clients, { concurrency: "unbounded" })
        for (const error of errors) {
          assert.strictEqual(error._tag, "ContenderUnusable")
          assert.match(error.message, /the disk said no \(start \d\)/)
        }
        assert.isAtMost(starts(kit).length, 8) // three in a row, and one more for each pause until all have heard of it
      })
    )
  )

  it.live(
    "one that dies soon after it was ready is started ever more seldom, by eight clients together",
    () =>
      withKit({ dieAfterMs: 300 }, (kit) =>
        Effect.gen(function* () {
          const spec = countingIn(kit)
          const loop = as(spec, (client) => Effect.forever(Effect.ignore(client.http.get("/hello"))))
          yield* Effect.all(
            Array.from({ length: 8 }, () => loop),
            { concurrency: "unbounded" }
          ).pipe(Effect.timeoutOption("20 seconds"))
          // three at once, then after 0.25, 0.5, 1, 2, 4 and 5 seconds
          assert.isAtMost(starts(kit).length, 10)
          assert.isAtLeast(starts(kit).length, 5)
        })
      ),
    60_000
  )

  it.live("a restart does not wait for what failed before, and neither does a launch that a person asked for", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const spec = countingIn(kit, 1000)
        const budget = () =>
          JSON.parse(fs.readFileSync(kit.paths.budget, "utf8")) as { spawns: number; notBefore: number }
        while (starts(kit).length < 7)
          yield* as(spec, (client) => Effect.flip(client.ensure({ deadline: "5 seconds" })))
        yield* kit.eventually(
          "no contender is on its way",
          () => kit.processes().length,
          (count) => count === 0
        )
        assert.isAbove(budget().notBefore - Date.now(), 500)
        fs.writeFileSync(`${kit.paths.directory}/failures`, "0")
        const before = performance.now()
        const restarted = yield* as(spec, (client) => client.restart())
        assert.strictEqual(restarted._tag, "Restarted")
        assert.isBelow(performance.now() - before, 5000)
        assert.strictEqual(budget().spawns, 1)
      })
    )
  )

  it.live("one that was stopped as asked is started again without a pause, however often", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const spec = countingIn(kit)
        const spawns = () => (JSON.parse(fs.readFileSync(kit.paths.budget, "utf8")) as { spawns: number }).spawns
        for (let round = 0; round < 6; round++) {
          yield* as(spec, (client) => client.launch())
          assert.strictEqual(spawns(), 1)
          assert.strictEqual((yield* as(spec, (client) => client.stop()))._tag, "Stopped")
        }
        assert.lengthOf(starts(kit), 6)
      })
    )
  )

  for (const [what, text] of [
    ["garbage", "{"],
    [
      "of the future",
      JSON.stringify({ boot: "", spawns: 9, at: Date.now() + 1e9, notBefore: Date.now() + 1e9, crashes: 9 })
    ],
    ["huge", "x".repeat(1_000_000)]
  ] as const) {
    it.live(`a record that is ${what} counts as empty`, () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          fs.writeFileSync(kit.paths.budget, text, { mode: 0o600 })
          yield* as(countingIn(kit), (client) => client.launch())
          assert.lengthOf(starts(kit), 1)
        })
      )
    )
  }
})

/** A client that is there until the test ends, and whom it saw ready, one after another. */
const attached = (spec: ServiceSpec) =>
  Effect.gen(function* () {
    const client = Context.get(yield* Layer.build(Layer.fresh(ServiceClient.layer(spec))), ServiceClient)
    const seen: Array<string> = []
    const following = yield* Stream.runForEach(client.changes, ({ health, status }) =>
      Effect.sync(() => {
        if (status.type === "ready" && seen.at(-1) !== health!.instanceID) seen.push(health!.instanceID)
      })
    ).pipe(Effect.forkScoped)
    yield* client.http.get("/hello")
    const inFlight = yield* Effect.flip(client.http.post("/for-ever")).pipe(Effect.forkScoped)
    return { client, seen, following, inFlight }
  })

describe("twenty clients that are attached", () => {
  it.live(
    "the owner is killed: one successor, every client ready again after one reconnect, and requests in flight are lost, not hung",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const spec = countingIn(kit)
          const first = yield* as(spec, (client) => client.launch())
          const owner = yield* kit.owner
          const clients = yield* Effect.forEach(Array.from({ length: 20 }), () => attached(spec))
          yield* kit.eventually(
            "twenty requests have landed",
            () => fs.existsSync(`${kit.paths.directory}/hanging`) && fs.statSync(`${kit.paths.directory}/hanging`).size,
            (landed) => landed === 20
          )
          yield* owner.kill
          const ready = yield* Effect.forEach(clients, ({ client }) => client.ensure(), { concurrency: "unbounded" })
          const successors = new Set(ready.map(({ instanceID }) => instanceID))
          assert.strictEqual(successors.size, 1)
          assert.isFalse(successors.has(first.instanceID))
          assert.lengthOf(starts(kit), 2)
          for (const { following, inFlight, seen } of clients) {
            yield* kit.eventually(
              "it follows the successor",
              () => seen,
              (list) => list.length === 2
            )
            assert.isUndefined(following.pollUnsafe())
            const lost = yield* Fiber.join(inFlight).pipe(Effect.timeout("10 seconds"))
            assert.deepStrictEqual(
              [lost._tag, lost._tag === "TransportLost" && lost.landed],
              ["TransportLost", "maybe"]
            )
          }
        })
      ),
    60_000
  )
})
