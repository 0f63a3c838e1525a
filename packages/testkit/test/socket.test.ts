import { assert, describe, it } from "@effect/vitest"
import { createServiceClient } from "@holdfast/client/promise"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { isSocketName } from "@holdfast/lock/ServicePaths"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Layer, Stream } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { may } from "./elsewhere.ts"
import { fixture, type Knobs, setKnobs } from "./fixture/service.ts"
import { runtimes } from "./runtimes.ts"
import { boots, isReady, withKit } from "./withKit.ts"

const onSocket: Knobs = { listen: { socket: true } }

/** A client of its own, as another process would have. */
const as = <A, E, R>(spec: ServiceSpec, use: (client: ServiceClient["Service"]) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(ServiceClient, use).pipe(Effect.provide(Layer.fresh(ServiceClient.layer(spec))))

const hello = (client: ServiceClient["Service"]) =>
  Effect.flatMap(client.http.get("/hello"), (response) => response.text)

const sockets = (kit: Testkit["Service"]): ReadonlyArray<string> =>
  fs.readdirSync(kit.paths.directory).filter((name) => isSocketName(kit.paths, name))

const fileOf = (url: string): string => url.slice("unix:".length)

describe.concurrent("a service on a Unix socket", () => {
  it.live("ten contenders make one owner, whose one socket is in the state directory and for its user only", () =>
    withKit(onSocket, (kit) =>
      Effect.gen(function* () {
        const members = yield* kit.swarm(10)
        const { registration } = yield* isReady(kit)
        assert.deepStrictEqual(boots(kit), [registration!.pid])
        yield* Effect.forEach(
          members.filter(({ pid }) => pid !== registration!.pid),
          ({ exited }) => Effect.map(exited, (ended) => assert.deepStrictEqual(ended, { code: 0 }))
        )
        const name = `service.${registration!.instanceID.slice(0, 8)}.sock`
        assert.deepStrictEqual(sockets(kit), [name])
        assert.strictEqual(registration!.url, `unix:${fs.realpathSync(kit.paths.directory)}/${name}`)
        assert.strictEqual(fs.statSync(fileOf(registration!.url)).mode & 0o777, 0o600)
      })
    )
  )

  it.live("is launched, asked, followed and stopped through the promise client, and its file goes with it", () =>
    withKit(onSocket, (kit) =>
      Effect.gen(function* () {
        const service = createServiceClient(kit.spec)
        yield* Effect.promise(async () => {
          const ready = await service.launch()
          assert.isTrue(fs.lstatSync(fileOf(ready.url)).isSocket())
          assert.strictEqual(await (await service.fetch("/hello")).text(), `hello from ${ready.pid}`)
          const posted = await service.fetch("/no-such-path", { method: "POST", body: "x".repeat(1_000_000) })
          assert.strictEqual(posted.status, 404)
          const events = []
          for await (const event of service.events("/ticks")) if (events.push(event.event) === 3) break
          assert.deepStrictEqual(events, ["reopened", "tick", "tick"])
          assert.strictEqual((await service.stop())._tag, "Stopped")
          await service.dispose()
        })
        assert.deepStrictEqual(sockets(kit), [])
        assert.isEmpty(kit.processes())
      })
    )
  )

  it.live("is followed from instance to instance through the Effect client, its status and its events", () =>
    withKit(onSocket, (kit) =>
      as(kit.spec, (client) =>
        Effect.gen(function* () {
          const first = yield* client.ensure()
          assert.strictEqual(yield* hello(client), `hello from ${first.pid}`)
          const seen: Array<string> = []
          yield* Stream.runForEach(client.changes, ({ status }) => Effect.sync(() => seen.push(status.type))).pipe(
            Effect.forkScoped
          )
          const snapshots: Array<string> = []
          const ticks = Effect.map(client.http.get("/ticks"), (response) => response.stream)
          yield* client.follow({ snapshot: hello(client), events: ticks }).pipe(
            Stream.runForEach((one) =>
              Effect.sync(() => void (one._tag === "Snapshot" && snapshots.push(`${one.value} ${one.instanceID}`)))
            ),
            Effect.forkScoped
          )
          const shown = (...all: ReadonlyArray<{ readonly pid: number; readonly instanceID: string }>) =>
            all.map(({ instanceID, pid }) => `hello from ${pid} ${instanceID}`)
          yield* kit.eventually(
            "the first snapshot is there",
            () => snapshots.join(),
            (all) => all === shown(first).join()
          )
          const restarted = yield* client.restart()
          if (restarted._tag !== "Restarted") return assert.fail(restarted.sentence)
          yield* kit.eventually(
            "the next snapshot is there",
            () => snapshots.join(),
            (all) => all === shown(first, restarted.ready).join()
          )
          yield* kit.eventually(
            "the statuses are there",
            () => seen.join(),
            (all) => /^ready,(stopping,)?(unreachable,|missing,|starting,)+ready$/.test(all)
          )
          assert.deepStrictEqual(sockets(kit), [`service.${restarted.ready.instanceID.slice(0, 8)}.sock`])
        })
      )
    )
  )

  it.live("killed, it leaves its file: requests move to the next owner, which sweeps it and nothing else", () =>
    withKit(onSocket, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        const beside = [`${kit.paths.directory}/service-stable-work.01234567.sock`, `${fileOf(first.url)}.txt`]
        for (const file of beside) fs.writeFileSync(file, "")
        const owner = yield* kit.owner
        yield* owner.kill
        yield* owner.exited
        assert.isTrue(fs.existsSync(fileOf(first.url)))
        const next = Number((yield* hello(kit.client)).slice("hello from ".length))
        assert.notStrictEqual(next, first.pid)
        const { registration } = yield* isReady(kit)
        assert.strictEqual(registration!.pid, next)
        assert.deepStrictEqual(sockets(kit), [`service.${registration!.instanceID.slice(0, 8)}.sock`])
        for (const file of beside) assert.isTrue(fs.existsSync(file), file)
      })
    )
  )

  it.live("its file was deleted: it is back by itself, and nobody was started in its place", () =>
    withKit(onSocket, (kit) =>
      Effect.gen(function* () {
        const first = yield* kit.client.launch()
        fs.rmSync(fileOf(first.url))
        assert.strictEqual((yield* kit.client.state).status.type, "unreachable")
        assert.strictEqual(yield* hello(kit.client), `hello from ${first.pid}`)
        assert.deepStrictEqual(boots(kit), [first.pid])
        assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
        assert.deepStrictEqual(sockets(kit), [])
      })
    )
  )

  it.live("a directory whose path is too long is refused with one sentence, and nothing is started", () =>
    withKit(onSocket, (kit) =>
      Effect.gen(function* () {
        const directory = `${kit.paths.directory}/${"d".repeat(110)}`
        fs.mkdirSync(directory, { mode: 0o700 })
        setKnobs(directory, onSocket)
        yield* as({ ...kit.spec, directory }, (client) =>
          Effect.gen(function* () {
            const error = yield* Effect.flip(client.launch())
            assert.strictEqual(error._tag, "DirectoryUnusable")
            assert.match(error.message, /^The socket's path .* is too long: \d+ bytes, and 10[37] are allowed\.$/)
            assert.strictEqual(error.action, "Name a directory with a shorter path, or listen on a port.")
            assert.strictEqual((yield* client.state).status.type, "missing")
          })
        )
        assert.deepStrictEqual(
          fs.readdirSync(directory).filter((name) => /\.json$|\.sock$|boots/.test(name)),
          ["knobs.json"]
        )
      })
    )
  )

  it.live("a directory that others may enter is refused with the command that mends it", () =>
    withKit(onSocket, (kit) =>
      Effect.gen(function* () {
        fs.chmodSync(kit.paths.directory, 0o755)
        const error = yield* Effect.flip(kit.client.launch())
        assert.strictEqual(error._tag, "DirectoryUnusable")
        assert.strictEqual(error.action, `Run: chmod 700 '${fs.realpathSync(kit.paths.directory)}'`)
        const [contender] = yield* kit.swarm(1)
        assert.deepStrictEqual(yield* contender!.exited, { code: 73 })
        fs.chmodSync(kit.paths.directory, 0o700)
        assert.strictEqual((yield* kit.client.launch()).version, "1.0.0")
      })
    )
  )

  it.live.skipIf(!may.becomeNobody)(
    "another user cannot connect, also when the directory was opened to all since (needs root and setpriv)",
    () =>
      withKit(onSocket, (kit) =>
        Effect.gen(function* () {
          const { url } = yield* kit.client.launch()
          const script = `require("net").connect(process.argv[1]).on("connect", () => console.log("connected") || process.exit()).on("error", (e) => console.log(e.code))`
          const connect = (before: ReadonlyArray<string>) => {
            const [command, ...args] = [...before, process.execPath, "-e", script, fileOf(url)]
            return spawnSync(command!, args, { encoding: "utf8", timeout: 10_000 }).stdout.trim()
          }
          const asNobody = yield* kit.otherUser()
          assert.strictEqual(connect([]), "connected")
          assert.strictEqual(connect(asNobody), "EACCES")
          fs.chmodSync(kit.paths.directory, 0o755)
          assert.strictEqual(connect(asNobody), "EACCES")
          fs.chmodSync(kit.paths.directory, 0o700)
        })
      )
  )

  it.live("a holder with a socket is asked in policy fenced, too: the contender leaves", () =>
    withKit({ ...onSocket, policy: "fenced" }, (kit) =>
      Effect.gen(function* () {
        const [owner] = yield* kit.swarm(1)
        const before = yield* isReady(kit)
        fs.rmSync(kit.paths.lock)
        fs.rmSync(kit.paths.owner)
        const [contender] = yield* kit.swarm(1)
        assert.deepStrictEqual(yield* contender!.exited, { code: 0 })
        assert.include(fs.readFileSync(kit.paths.log, "utf8"), `Already running with PID ${owner!.pid}.`)
        assert.deepStrictEqual(yield* kit.client.state, before)
        yield* kit.eventually(
          "the owner's note is back",
          () => fs.existsSync(kit.paths.owner),
          (back) => back
        )
      })
    )
  )

  it.live("is found through another name of its directory", () =>
    withKit(onSocket, (kit) =>
      Effect.gen(function* () {
        const link = `${kit.paths.directory}/link`
        fs.symlinkSync(kit.paths.directory, link)
        const ready = yield* kit.client.launch()
        yield* as({ ...kit.spec, directory: link }, (client) =>
          Effect.gen(function* () {
            assert.deepStrictEqual(yield* client.launch(), ready)
            assert.strictEqual(yield* hello(client), `hello from ${ready.pid}`)
          })
        )
      })
    )
  )

  for (const { name, path } of runtimes.slice(1)) {
    const reason = path === undefined ? ` (${name} is not installed: npm run runtimes)` : ""
    it.live.skipIf(reason !== "")(`its owner may run under ${name}${reason}`, () =>
      withKit(onSocket, (kit) =>
        Effect.gen(function* () {
          const [owner] = yield* kit.swarm(1, { runtime: path! })
          const { registration } = yield* isReady(kit)
          assert.strictEqual(registration?.pid, owner!.pid)
          assert.strictEqual(fs.statSync(fileOf(registration!.url)).mode & 0o777, 0o600)
          assert.strictEqual(yield* hello(kit.client), `hello from ${owner!.pid}`)
          fs.rmSync(fileOf(registration!.url))
          assert.strictEqual(yield* hello(kit.client), `hello from ${owner!.pid}`)
          assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
          assert.deepStrictEqual(sockets(kit), [])
        })
      )
    )
  }
})

describe("where a service listens is its own affair", () => {
  for (const [where, knobs, other] of [
    ["a socket", onSocket, {}],
    ["a port", {}, onSocket.listen]
  ] as const) {
    it.live(`a client whose spec says otherwise attaches to a service on ${where}`, () =>
      withKit(knobs, (kit) =>
        Effect.gen(function* () {
          const ready = yield* kit.client.launch()
          const { directory } = kit.paths
          const spec = {
            ...fixture,
            directory,
            ...(other === undefined || !("socket" in other) ? {} : { listen: other })
          }
          yield* as(spec, (client) =>
            Effect.gen(function* () {
              assert.deepStrictEqual(yield* client.launch(), ready)
              assert.strictEqual(yield* hello(client), `hello from ${ready.pid}`)
            })
          )
          assert.deepStrictEqual(boots(kit), [ready.pid])
        })
      )
    )
  }

  const hasIPv6 = fs.existsSync("/proc/net/if_inet6") && fs.readFileSync("/proc/net/if_inet6", "utf8").includes(" lo")
  it.live.skipIf(!hasIPv6)("a stranger on the same port of [::1] is neither a hindrance nor dialled (needs IPv6)", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const ready = yield* kit.client.launch()
        const port = Number(new URL(ready.url).port)
        const stranger = yield* kit.occupyPort("answers", { port, host: "::1" })
        yield* as(kit.spec, (client) =>
          Effect.gen(function* () {
            assert.deepStrictEqual(yield* client.launch(), ready)
            assert.strictEqual(yield* hello(client), `hello from ${ready.pid}`)
          })
        )
        assert.strictEqual(stranger.connections(), 0)
      })
    )
  )
})
