import { assert, describe, it } from "@effect/vitest"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as identity from "@holdfast/lock/identity"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Layer } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import { clientSays, commandOf, environmentOf } from "./elsewhere.ts"
import { setKnobs } from "./fixture/service.ts"
import { type Interface, open, raw, ticks } from "./interfaces.ts"
import { end } from "./people.ts"
import { freePort } from "./ports.ts"
import { boots, isReady, withKit } from "./withKit.ts"
import { programOf } from "./fixture/programs.ts"

type Kit = Testkit["Service"]

const as = <A, E>(spec: ServiceSpec, use: (client: ServiceClient["Service"]) => Effect.Effect<A, E>) =>
  Effect.flatMap(ServiceClient, use).pipe(Effect.provide(Layer.fresh(ServiceClient.layer(spec))))
const killOwner = (kit: Kit) => Effect.flatMap(kit.owner, (owner) => Effect.andThen(owner.kill, owner.exited))
const timed = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    const began = performance.now()
    return Effect.map(effect, (value) => ({ value, ms: performance.now() - began }))
  })

const counting = programOf("flaky")
const startsIn = (kit: Kit): number => {
  const file = `${kit.paths.directory}/starts`
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n").length : 0
}
const failures = (kit: Kit, count: number) => fs.writeFileSync(`${kit.paths.directory}/failures`, String(count))

/** A service that is this shell script; it works in the state directory. */
const script = (kit: Kit, text: string): ServiceSpec => ({ ...kit.spec, entry: { command: "sh", args: ["-c", text] } })

describe.concurrent("an owner that nobody can reach any more", () => {
  it.live("deaf, and heeding no signal: who waits is told its PID within the bound, and a restart replaces it", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        yield* kit.client.http.post("/deaf")
        const error = yield* as(kit.spec, (client) => Effect.flip(client.ensure({ deadline: "3 seconds" })))
        assert.strictEqual(error._tag, "ServiceNotReady")
        assert.include(error.message, `PID ${first.pid} owns it and cannot be reached`)
        const owner = identity.ofPid(first.pid)!
        const { ms, value } = yield* timed(as(kit.spec, (client) => client.restart()))
        assert.strictEqual(value._tag, "Restarted", JSON.stringify(value))
        assert.strictEqual(identity.state(owner), "dead")
        assert.notStrictEqual((yield* isReady(kit)).registration?.pid, first.pid)
        assert.isBelow(ms, 20_000) // asked 2 s, SIGTERM 5 s, SIGKILL, and a boot
        assert.lengthOf(boots(kit), 2)
      })
    )
  )
})

describe.concurrent("a service that cannot be started", () => {
  it.live("whose starts fail one after the other, each for its reason: two that wait are both told one of them", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const text = `echo x >>starts
          if [ $(wc -l <starts) -eq 1 ]; then sleep 1; echo "Error: E1" >&2; else sleep 3; echo "Error: E2" >&2; fi
          exit 1`
        const waiting = as(script(kit, text), (client) => Effect.flip(client.ensure({ deadline: "8 seconds" })))
        for (const error of yield* Effect.all([waiting, waiting], { concurrency: 2 })) {
          assert.strictEqual(error._tag, "ServiceNotReady")
          assert.match(error.message, /^Fixture did not become ready: Error: E[12]$/)
        }
        assert.isAtMost(startsIn(kit), 4)
        yield* kit.eventually("the last has ended", kit.processes, (left) => left.length === 0)
      })
    )
  )

  const causes: ReadonlyArray<[string, (kit: Kit) => ServiceSpec["entry"], RegExp]> = [
    ["a program that is not there", () => ({ command: "/no/such/program", args: [] }), /there is no such program/],
    [
      "a program that may not be run",
      (kit) => {
        fs.writeFileSync(`${kit.paths.directory}/program`, "", { mode: 0o600 })
        return { command: `${kit.paths.directory}/program`, args: [] }
      },
      /EACCES/
    ],
    [
      "one that says why",
      () => ({ command: "sh", args: ["-c", "echo 'Error: bad config' >&2; exit 1"] }),
      /bad config/
    ],
    ["one that is killed", () => ({ command: "sh", args: ["-c", "kill -9 $$"] }), /SIGKILL/],
    ["one that ends without a word", () => ({ command: "sh", args: ["-c", "exit 7"] }), /code 7/],
    ["one that ends well and serves nobody", () => ({ command: "/bin/true", args: [] }), /code 0/]
  ]
  it.live.each(causes)("%s: a launch ends with the cause, at once, and says where the log is", ([, entry, cause]) =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const spec = { ...kit.spec, entry: entry(kit) }
        const { ms, value } = yield* timed(as(spec, (client) => Effect.flip(client.launch())))
        assert.strictEqual(value._tag, "ContenderUnusable")
        assert.match(value.message, cause)
        assert.strictEqual((value as { readonly action: string }).action, "Run `fixture service logs`.")
        assert.isBelow(ms, 3000)
      })
    )
  )

  it.live(
    "eight that call at once where nothing is yet are all answered: one secret, private, and nothing half done",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const directory = `${kit.paths.directory}/deeper/state`
          const calling = Array.from({ length: 8 }, () => clientSays("call", directory, { timeoutMs: 40_000 }))
          const said = yield* Effect.all(calling, { concurrency: "unbounded" })
          const { pid } = JSON.parse(fs.readFileSync(`${directory}/service.json`, "utf8")) as { readonly pid: number }
          for (const { output, value } of said) assert.strictEqual(value, `hello from ${pid}`, output)
          assert.strictEqual(fs.statSync(`${directory}/service.secret`).mode & 0o777, 0o600)
          const unknown = fs
            .readdirSync(directory)
            .filter(
              (name) =>
                !/^(boots|service\.(json|lock|spawn\.lock|owner\.json|lease\.db(-journal)?|secret|log|cache))$/.test(
                  name
                )
            )
          assert.deepStrictEqual(unknown, [])
          assert.strictEqual(fs.readFileSync(`${directory}/boots`, "utf8"), `${pid}\n`)
          yield* end(kit, pid)
        })
      ),
    60_000
  )
})

describe.concurrent("terminal user interfaces", () => {
  it.live(
    "six of them outlive a crash, starts that fail, and a boot that fails until somebody repairs it; each is ready again",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          failures(kit, 0)
          const env = { ENTRY: counting }
          const boot = yield* timed(as({ ...kit.spec, entry: commandFor(counting) }, (client) => client.launch()))
          const screens: Array<Interface> = []
          for (let count = 0; count < 5; count++) screens.push(yield* open(kit, env))
          for (const screen of screens) yield* ticks(kit, screen)

          // a crash: back at once, and by one process
          yield* killOwner(kit)
          const { ms } = yield* timed(reopened(kit, screens, 2))
          assert.isBelow(ms, boot.ms + 3000)
          assert.strictEqual(startsIn(kit), 2)

          // two starts that end at once, and a sixth that comes in the middle of it
          failures(kit, startsIn(kit) + 2)
          yield* killOwner(kit)
          yield* kit.eventually(
            "a start has failed",
            () => startsIn(kit),
            (count) => count > 2
          )
          const sixth = yield* open(kit, env)
          yield* reopened(kit, screens, 3)
          yield* reopened(kit, [sixth], 1)
          assert.strictEqual(startsIn(kit), 5)
          screens.push(sixth)

          // a boot that fails, which is shown until it is repaired
          setKnobs(kit.paths.directory, { bootFail: { message: "The index is broken.", action: "Repair it." } })
          yield* killOwner(kit)
          for (const screen of screens)
            yield* kit.eventually(
              "it shows the failure",
              () => screen.lines("state").at(-1),
              (line) => line === "state: The index is broken. Repair it."
            )
          setKnobs(kit.paths.directory, {})
          assert.strictEqual((yield* kit.client.restart())._tag, "Restarted")
          const { registration } = yield* isReady(kit)
          for (const screen of screens) {
            yield* ticks(kit, screen, registration!.pid)
            assert.isUndefined(screen.ended())
            assert.isEmpty(screen.lines("error"))
            assert.notMatch(screen.output(), raw)
          }
        })
      ),
    90_000
  )

  it.live("one that was frozen while the owner was replaced on the same port has the new state when it wakes", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      yield* withKit({ port }, (kit) =>
        Effect.gen(function* () {
          const first = yield* kit.client.launch()
          const screen = yield* open(kit)
          yield* ticks(kit, screen, first.pid)
          screen.signal("SIGSTOP")
          yield* killOwner(kit)
          const next = yield* kit.client.ensure()
          assert.strictEqual(next.url, first.url)
          screen.signal("SIGCONT")
          yield* ticks(kit, screen, next.pid)
          const story = screen.output().match(/^(reopened|snapshot: .*|tick -1 of .*)$/gm)
          assert.deepStrictEqual(
            story,
            [first, next].flatMap(({ pid }) => ["reopened", `snapshot: hello from ${pid}`, `tick -1 of ${pid}`])
          )
          const received = screen.lines("tick")
          assert.strictEqual(new Set(received).size, received.length, "no event comes twice")
          assert.isEmpty(screen.lines("error"))
        })
      )
    })
  )

  it.live("one whose service got another secret goes on with it, and no request fails", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        const screen = yield* open(kit, { CALLS: "1" })
        yield* ticks(kit, screen, first.pid)
        const secret = () => fs.readFileSync(kit.paths.secret, "utf8")
        const before = secret()
        screen.signal("SIGSTOP") // or it starts the next one before the secret is gone
        yield* kit.client.stop()
        fs.rmSync(kit.paths.secret, { force: true })
        screen.signal("SIGCONT")
        const next = yield* kit.client.ensure()
        assert.notStrictEqual(secret(), before)
        yield* ticks(kit, screen, next.pid)
        yield* kit.eventually(
          "its calls are answered by the new one",
          () => screen.lines("called").at(-1),
          (line) => line === `called: hello from ${next.pid}`
        )
        assert.isEmpty(screen.lines("error"))
        assert.isUndefined(screen.ended())
      })
    )
  )
})

// not beside others: it measures
describe("a starter", () => {
  it.live("and its service that are killed in the middle of the boot cost the next one no wait", () =>
    withKit({ bootMs: 500 }, (kit) =>
      Effect.gen(function* () {
        const clean = yield* timed(kit.client.ensure())
        const taken: Array<number> = []
        for (let round = 0; round < 3; round++) {
          yield* kit.client.stop()
          const [command, ...args] = commandOf("ensure", kit.paths.directory)
          const starter = yield* Effect.acquireRelease(
            Effect.sync(() => childProcess.spawn(command!, args, { env: environmentOf(), stdio: "ignore" })),
            (child) => Effect.sync(() => void child.kill("SIGKILL"))
          )
          yield* kit.waitFor("it starts", ({ status }) => status.type === "starting", {
            within: "30 seconds"
          })
          starter.kill("SIGKILL")
          yield* killOwner(kit)
          taken.push((yield* timed(as(kit.spec, (client) => client.ensure()))).ms)
        }
        assert.isBelow(Math.min(...taken), clean.ms + 500, taken.join())
      })
    )
  )
})

const commandFor = (file: string): ServiceSpec["entry"] => ({
  command: process.execPath,
  args: ["--conditions", "development", file]
})

const reopened = (kit: Kit, screens: ReadonlyArray<Interface>, times: number) =>
  kit.eventually(
    `each has begun ${times} times`,
    () => screens.map((screen) => screen.lines("tick -1").length),
    (counts) => counts.every((count) => count === times),
    { within: "20 seconds" }
  )
