import { assert, describe, it } from "@effect/vitest"
import * as identity from "@holdfast/lock/identity"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Stream } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { clientSays, commandOf, environmentOf, may } from "./elsewhere.ts"
import { terminal } from "./terminal.ts"
import { boots, isReady, withKit } from "./withKit.ts"

const alive = (pid: number): boolean => {
  const found = identity.ofPid(pid)
  return found !== undefined && identity.state(found) === "alive"
}

const descriptorsOf = (pid: number | "self"): ReadonlyArray<string> =>
  fs.readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      return [fs.readlinkSync(`/proc/${pid}/fd/${name}`)]
    } catch {
      return [] // the one the list was read by
    }
  })

/** Another client: notes each owner whose ticks it receives, and each tick that is not the one after the last. */
const stream = (kit: Testkit["Service"]) =>
  Effect.gen(function* () {
    const seen = { ticks: 0, gaps: 0, owners: new Set<number>() }
    let last = -2
    const ticks = kit.client.http.get("/ticks").pipe(Effect.map((response) => Stream.decodeText(response.stream)))
    yield* Stream.unwrap(ticks).pipe(
      Stream.splitLines,
      Stream.filter((line) => line.startsWith("data: ")),
      Stream.runForEach((line) =>
        Effect.sync(() => {
          const { n, pid } = JSON.parse(line.slice(6)) as { readonly n: number; readonly pid: number }
          if (n !== last + 1) seen.gaps++
          last = n
          seen.ticks++
          seen.owners.add(pid)
        })
      ),
      Effect.ensuring(Effect.sync(() => void seen.gaps++)),
      Effect.ignore,
      Effect.forkScoped
    )
    return seen
  })

const no = may.terminal ? "" : " (needs python3)"

describe.concurrent("a service that a client in a terminal has started", () => {
  const ends: ReadonlyArray<
    [string, (window: Effect.Success<ReturnType<typeof terminal>>, client: number) => unknown]
  > = [
    ["the terminal is closed", (window) => window.close()],
    ["Ctrl-C is pressed", (window) => window.type("\u0003")],
    ["the client's whole process group is terminated", (window) => process.kill(-window.pid, "SIGTERM")],
    ["the shell it was typed into is killed", (window) => process.kill(window.pid, "SIGKILL")],
    ["the client itself is killed", (_, client) => process.kill(client, "SIGKILL")]
  ]
  it.live.skipIf(!may.terminal)(
    `and another client's stream do not notice that it ends, in whatever way; the client is gone, and its connection${no}`,
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const services: Array<number> = []
          for (const [what, end] of ends) {
            yield* Effect.gen(function* () {
              const { directory } = kit.paths
              // an inner shell that stays the parent, and says who its child is
              const shell = ["sh", "-c", '"$@" & echo "client $!"; wait', "sh"]
              const window = yield* terminal(
                what.startsWith("Ctrl-C") || what.includes("group")
                  ? ["sh", "-c", 'echo "client $$"; exec "$@"', "sh", ...commandOf("follow", directory)]
                  : [...shell, ...commandOf("follow", directory)]
              )
              yield* kit.eventually("the client in the terminal receives ticks", window.output, (text) =>
                text.includes("tick {")
              )
              const client = Number(/client (\d+)/.exec(window.output())?.[1])
              assert.isTrue(alive(client), window.output())
              const { registration } = yield* isReady(kit)
              const service = registration!.pid
              services.push(service) // each terminal starts its own, which is in no other's session
              const sockets = () => descriptorsOf(service).filter((one) => one.startsWith("socket:")).length
              const other = yield* stream(kit)
              yield* kit.eventually(
                "the other client receives ticks",
                () => other.ticks,
                (ticks) => ticks > 2
              )
              const before = sockets()
              end(window, client)
              yield* kit.eventually(
                `the client is gone when ${what}`,
                () => alive(client),
                (there) => !there,
                {
                  within: "5 seconds"
                }
              )
              yield* kit.eventually("its connection is gone", sockets, (now) => now < before, { within: "5 seconds" })
              const ticks = other.ticks
              yield* kit.eventually(
                "the ticks go on",
                () => other.ticks,
                (now) => now > ticks + 5
              )
              assert.deepStrictEqual([other.gaps, [...other.owners]], [0, [service]], what)
              assert.strictEqual((yield* kit.client.stop())._tag, "Stopped")
            }).pipe(Effect.scoped)
          }
          assert.deepStrictEqual(boots(kit), services)
        })
      )
  )
})

describe.concurrent("a service that was started by a client whose output is captured", () => {
  const run = (kit: Testkit["Service"], line: string, descriptors: number) =>
    Effect.promise(
      () =>
        new Promise<{ readonly output: string; readonly lingeredMs: number; readonly callers: ReadonlySet<string> }>(
          (resolve) => {
            const tell = "for fd in /proc/$$/fd/*; do readlink $fd >&2; done"
            const child = childProcess.spawn(
              "bash",
              ["--norc", "-c", `${tell}; client() { ${commandOf("ensure", kit.paths.directory).join(" ")}; }; ${line}`],
              { env: environmentOf(), stdio: Array.from({ length: descriptors }, () => "pipe" as const) }
            )
            let [output, told, ended] = ["", "", 0]
            child.stdout!.on("data", (text: Buffer) => (output += text.toString()))
            child.stderr!.on("data", (text: Buffer) => (told += text.toString()))
            for (const one of child.stdio.slice(3)) (one as import("node:stream").Readable).resume()
            child.on("exit", () => (ended = performance.now()))
            // comes when nobody holds the other end of any of its pipes any more
            child.on("close", () =>
              resolve({ output, lingeredMs: performance.now() - ended, callers: new Set(told.trim().split("\n")) })
            )
          }
        )
    ).pipe(Effect.timeout("20 seconds"))

  for (const [what, line, descriptors] of [
    ["in a variable", 'x=$(client); echo "got: $x"', 3],
    ["through a pipe", "client | cat", 3],
    ["with an input that is never closed and descriptors 3 to 9 open on pipes", "client", 10],
    [
      "in a variable, from a subshell that holds a lock and a pipe",
      'x=$( { client 200>&1; } 201>"held"); echo "$x"',
      10
    ]
  ] as const) {
    it.live(`${what} lets its caller go at once, and holds nothing of it`, () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const inside = line.replace('"held"', `"${kit.paths.directory}/held"`)
          const { callers, lingeredMs, output } = yield* run(kit, inside, descriptors)
          assert.include(output, '"instanceID"')
          assert.isBelow(lingeredMs, 1000)
          const { registration } = yield* isReady(kit)
          const held = descriptorsOf(registration!.pid)
          assert.isAtLeast(callers.size, descriptors, "what the caller had was seen")
          assert.deepStrictEqual(
            held.filter((one) => one !== "/dev/null" && (callers.has(one) || one.endsWith("/held"))),
            []
          )
          // and nothing that it has not opened itself
          const own = (one: string) =>
            one === "/dev/null" ||
            one.startsWith(`${kit.paths.directory}/service.`) ||
            /^(anon_inode|pipe|socket):/.test(one)
          assert.deepStrictEqual(
            held.filter((one) => !own(one)),
            []
          )
        })
      )
    )
  }
})

describe.concurrent("a service and the environment of who starts it", () => {
  const namesOf = (pid: number) =>
    fs
      .readFileSync(`/proc/${pid}/environ`, "utf8")
      .split("\0")
      .filter((line) => line !== "")

  it.live("it gets what is documented and nothing else, no debugger, and a directory that stays", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const stood = path.join(path.dirname(kit.paths.directory), "stood")
        fs.mkdirSync(stood)
        const env = {
          LISTED: "",
          NODE_OPTIONS: "--inspect=127.0.0.1:0",
          ELECTRON_RUN_AS_NODE: "1",
          npm_config_x: "1",
          SECRET: "1",
          LANG: "C"
        }
        const said = yield* clientSays("ensure", kit.paths.directory, {
          env,
          before: ["sh", "-c", `cd ${stood} && exec "$@"`, "sh"]
        })
        assert.isString(said.value?.instanceID, said.output)
        fs.rmdirSync(stood)
        const { pid } = said.value
        const names = namesOf(pid).map((line) => line.split("=")[0])
        assert.deepStrictEqual(names.toSorted(), ["HOLDFAST_SERVICE", "HOME", "LANG", "PATH"])
        assert.strictEqual(fs.readlinkSync(`/proc/${pid}/cwd`), kit.paths.directory)
        assert.notInclude(fs.readFileSync(kit.paths.log, "utf8"), "Debugger")
      })
    )
  )

  it.live("it keeps what it was started with, until a restart, which takes the caller's", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const pathOf = (pid: number) => namesOf(pid).find((line) => line.startsWith("PATH="))
        const PATH = process.env["PATH"] ?? ""
        const env = { PATH: `${PATH}:/new` }
        const first = (yield* clientSays("ensure", kit.paths.directory)).value
        assert.strictEqual(pathOf(first.pid), `PATH=${PATH}`)
        assert.strictEqual((yield* clientSays("ensure", kit.paths.directory, { env })).value.pid, first.pid)
        assert.strictEqual((yield* clientSays("restart", kit.paths.directory, { env })).value._tag, "Restarted")
        const { registration } = yield* isReady(kit)
        assert.strictEqual(pathOf(registration!.pid), `PATH=${PATH}:/new`)
      })
    )
  )
})
