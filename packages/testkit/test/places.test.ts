import { assert, describe, it } from "@effect/vitest"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { unless } from "@holdfast/testkit/Capability"
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { programOf } from "./fixture/programs.ts"
import { clientSays } from "./elsewhere.ts"
import { withKit } from "./withKit.ts"

const as = <A, E>(spec: ServiceSpec, use: (client: ServiceClient["Service"]) => Effect.Effect<A, E>) =>
  Effect.flatMap(ServiceClient, use).pipe(Effect.provide(Layer.fresh(ServiceClient.layer(spec))))

const hello = (client: ServiceClient["Service"]) =>
  Effect.flatMap(client.http.get("/hello"), (response) => response.text)

/** Starts, is called and stops; the registration says where it was. */
const works = (spec: ServiceSpec) =>
  as(spec, (client) =>
    Effect.gen(function* () {
      const { pid } = yield* client.ensure()
      assert.strictEqual(fs.readlinkSync(`/proc/${pid}/cwd`), spec.directory)
      assert.strictEqual(yield* hello(client), `hello from ${pid}`)
      assert.strictEqual((yield* client.stop())._tag, "Stopped")
    })
  )

const daemon = pathToFileURL(programOf("daemon")).href

describe.concurrent("a service in a place with an odd name", () => {
  const names = ["a b", "a'b", 'a"b$(touch X)', "é", "日本", "-n", "a\nb", "a.", "%41", "#?&"]
  it.live.each(names.map((name) => [name] as const))("%j, as is its program: starts, is called, and stops", ([name]) =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const place = path.join(kit.paths.directory, name)
        fs.mkdirSync(place)
        fs.writeFileSync(path.join(place, "daemon.mjs"), `await import(${JSON.stringify(daemon)})`)
        const entry = pathToFileURL(path.join(place, "daemon.mjs"))
        yield* works({ ...kit.spec, directory: path.join(place, "state"), entry })
        assert.deepStrictEqual(fs.readdirSync(place).toSorted(), ["daemon.mjs", "state"])
        assert.isFalse(fs.existsSync("X") || fs.existsSync(path.join(place, "state", "X")))
      })
    )
  )

  /** A directory whose path has that many bytes. */
  const ofLength = (base: string, bytes: number, letter: string): string => {
    let directory = base
    while (bytes - Buffer.byteLength(directory) > 1) {
      const left = Math.min(bytes - Buffer.byteLength(directory) - 1, 200)
      const rest = left - (left % Buffer.byteLength(letter))
      directory = path.join(directory, letter.repeat(rest / Buffer.byteLength(letter)) + "x".repeat(left - rest))
    }
    return directory
  }
  it.live("of any length up to what the lease's database takes; beyond, one sentence says the limit", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        for (const [bytes, letter] of [
          [107, "a"],
          [108, "a"],
          [109, "é"],
          [504 - "/service.lease.db".length, "日"]
        ] as const) {
          const directory = ofLength(kit.paths.directory, bytes, letter)
          assert.isAtMost(Math.abs(Buffer.byteLength(directory) - bytes), 1)
          yield* works({ ...kit.spec, directory })
        }
        for (const bytes of [505, 3000]) {
          const directory = ofLength(kit.paths.directory, bytes, "a")
          const error = yield* as({ ...kit.spec, directory }, (client) => Effect.flip(client.launch()))
          assert.strictEqual(error._tag, "DirectoryUnusable")
          assert.match(error.message, /its path has \d+ bytes, and SQLite takes at most 504\.$/)
        }
      })
    )
  )

  it.live("two of them whose names differ only after their first 108 bytes are two", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const common = ofLength(kit.paths.directory, 120, "a")
        const specs = ["one", "two"].map((name) => ({ ...kit.spec, directory: path.join(common, name) }))
        const pids = yield* Effect.forEach(specs, (spec) => as(spec, (client) => client.ensure()))
        for (const [index, spec] of specs.entries())
          assert.strictEqual(yield* as(spec, hello), `hello from ${pids[index]!.pid}`)
        assert.notStrictEqual(pids[0]!.instanceID, pids[1]!.instanceID)
        for (const spec of specs) assert.strictEqual((yield* as(spec, (client) => client.stop()))._tag, "Stopped")
      })
    )
  )
})

describe.concurrent("a service", () => {
  it.live("is one for every spelling of its directory, and for a link to it", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { directory } = kit.paths
        const first = yield* kit.client.ensure()
        const link = path.join(path.dirname(directory), "link")
        fs.symlinkSync(directory, link)
        const above = path.join(directory, "..", path.basename(directory))
        for (const spelling of [
          `${directory}/`,
          `${directory}/.`,
          directory.replace(/\//g, "//"),
          above,
          link,
          `${link}/`
        ])
          assert.deepStrictEqual(
            yield* as({ ...kit.spec, directory: spelling }, (client) => client.ensure()),
            first,
            spelling
          )
        assert.strictEqual(fs.readFileSync(`${directory}/boots`, "utf8"), `${first.pid}\n`)
      })
    )
  )

  it.live("is told by a literal address of this machine, and listens on no other", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { url } = yield* kit.client.ensure()
        assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
        const port = Number(new URL(url).port)
        const others = Object.values(os.networkInterfaces())
          .flatMap((list) => list ?? [])
          .map(({ address }) => address)
          .filter((address) => address !== "127.0.0.1" && !address.startsWith("fe80"))
        for (const host of [...others, "127.0.0.2"]) {
          const answer = yield* Effect.callback<string>((resume) => {
            const socket = net.connect({ host, port, timeout: 1000 }, () => resume(Effect.succeed("connected")))
            socket.on("error", ({ code }: NodeJS.ErrnoException) => resume(Effect.succeed(code ?? "")))
            socket.on("timeout", () => resume(Effect.succeed("silent")))
            return Effect.sync(() => socket.destroy())
          })
          assert.notStrictEqual(answer, "connected", host)
        }
      })
    )
  )

  const { skip, suffix } = unless("network namespace")
  it.live.skipIf(skip)(`that a sandbox without a network could not start is started outside it at once${suffix}`, () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const from = { before: yield* kit.otherNamespace("network"), deadlineMs: 4000 }
        const inside = yield* clientSays("ensure", kit.paths.directory, from)
        assert.deepInclude(
          inside.error,
          {
            message: "There is no loopback network here, so nobody could reach the service.",
            action: "Start it outside this sandbox."
          },
          inside.output
        )
        const began = performance.now()
        const { pid } = yield* kit.client.ensure()
        assert.strictEqual(yield* hello(kit.client), `hello from ${pid}`)
        assert.isBelow(performance.now() - began, 5000)
      })
    )
  )
})
