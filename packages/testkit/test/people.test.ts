import { assert, describe, it } from "@effect/vitest"
import * as Credential from "@holdfast/lifecycle/Credential"
import { Effect, Fiber } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { clientSays, may, type Verb } from "./elsewhere.ts"
import { setKnobs } from "./fixture/service.ts"
import { below, end, one, places, two } from "./people.ts"
import { sessionIn } from "./session.ts"
import { withKit } from "./withKit.ts"

const textOf = (file: string): string => {
  try {
    return fs.readFileSync(file, "latin1")
  } catch {
    return "" // a directory, a socket, a process that has ended
  }
}

/** The statuses that a program of somebody else gets from these paths, without a token or with a guess. */
const asked = (before: ReadonlyArray<string>, url: string): ReadonlyArray<number> => {
  const program = `
    const statuses = []
    for (const path of ["/hello", "/service/health", "/service/events", "/service/stop"])
      for (const headers of [{}, { "${Credential.tokenHeader}": "${"A".repeat(43)}" }])
        statuses.push((await fetch("${url}" + path, { method: path.endsWith("stop") ? "POST" : "GET", headers })).status)
    console.log(JSON.stringify(statuses))`
  const [command, ...args] = [...before, process.execPath, "--input-type=module", "-e", program]
  return JSON.parse(childProcess.execFileSync(command!, args, { encoding: "utf8", timeout: 10_000 }))
}

const freePort = Effect.callback<number>((resume) => {
  const server = net.createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as net.AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

const underAnyMask = ["sh", "-c", 'umask 000; exec "$@"', "sh"]

describe.concurrent("other users of the machine", () => {
  it.live.skipIf(!may.becomeNobody)(
    "find nothing of a service open: no file whatever the umask, no secret or token in a log, a process list or an error (needs setpriv)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const directory = path.join(kit.paths.directory, "deeper", "state")
          const client = (verb: Verb) => clientSays(verb, directory, { before: underAnyMask })
          let said = (yield* client("ensure")).output
          yield* end(kit, JSON.parse(fs.readFileSync(path.join(directory, "service.json"), "utf8")).pid)
          setKnobs(directory, { children: true })
          said += (yield* client("ensure")).output
          const { pid } = JSON.parse(fs.readFileSync(path.join(directory, "service.json"), "utf8"))
          const open = below(path.dirname(directory)).filter(
            (file) => /(deeper|state|\/service\.[^/]*)$/.test(file) && (fs.statSync(file).mode & 0o077) !== 0
          )
          assert.deepStrictEqual(open, [])

          const { registration, texts } = yield* sessionIn(directory)
          // as open as can be, so that only the service's own modes and answers stand between
          for (const above of [path.dirname(kit.paths.directory), kit.paths.directory, path.dirname(directory)])
            fs.chmodSync(above, 0o755)
          const asNobody = yield* kit.otherUser()
          assert.deepStrictEqual([...new Set(asked(asNobody, registration.url))], [401])
          const [command, ...args] = [...asNobody, "cat", path.join(directory, "service.secret")]
          assert.notStrictEqual(childProcess.spawnSync(command!, args).status, 0)
          const refused = yield* clientSays("ensure", directory, { before: asNobody })
          assert.strictEqual(refused.error?._tag, "DirectoryUnusable", refused.output)
          said += refused.output
          // errors of our own, too: of a wrong secret, and of a service that is somebody else's by now
          const secret = fs.readFileSync(path.join(directory, "service.secret"))
          fs.chmodSync(path.join(directory, "service.secret"), 0o644)
          const rejected = yield* client("ensure")
          assert.strictEqual(rejected.error?._tag, "CredentialRejected", rejected.output)
          said += rejected.output
          fs.writeFileSync(path.join(directory, "service.secret"), secret, { mode: 0o600 })
          fs.chmodSync(path.join(directory, "service.secret"), 0o600)

          const children = fs.readFileSync(path.join(directory, "children"), "utf8").split("\n")
          const about = [...children, pid].flatMap((one) => [`/proc/${one}/cmdline`, `/proc/${one}/environ`])
          assert.isAbove(children.length, 3)
          const places = [...about, ...below(directory).filter((file) => !file.endsWith("service.secret"))]
          for (const place of places) said += textOf(place)
          for (const text of texts) assert.isFalse(said.includes(text))
          assert.include(said, "HOLDFAST_SERVICE", "the search reads what it should")
          yield* end(kit, pid, ...children.map(Number))
        })
      ),
    60_000
  )

  it.live.skipIf(!may.trace)(
    "find no file open at any moment: each is private from its creation, whatever the umask (needs strace)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const directory = path.join(kit.paths.directory, "state")
          const trace = path.join(path.dirname(kit.paths.directory), "trace")
          const tracing = ["strace", "-f", "--seccomp-bpf", "-o", trace, "-e", "trace=openat,mkdir"]
          const [said, heard] = [path.join(path.dirname(trace), "said"), ["sh", "-c", 'exec "$@" >$0']]
          // strace ends when all that it follows has ended, the service too
          const traced = yield* clientSays("ensure", directory, {
            before: [...underAnyMask, ...tracing, ...heard, said],
            env: { LISTED: "" } // so it keeps its compiled code itself
          }).pipe(Effect.forkScoped)
          const ready = yield* kit.eventually(
            "it is ready",
            () => textOf(said),
            (text) => text.endsWith("}\n")
          )
          yield* end(kit, JSON.parse(ready).value.pid)
          yield* Fiber.join(traced)
          const modes = new Map<string, string>()
          for (const line of fs.readFileSync(trace, "utf8").split("\n")) {
            const found = /(?:openat\(AT_FDCWD, |mkdir\()"([^"]+)".* (0\d+)(?:\)| <unfinished)/.exec(line)
            const ours = found !== null && found[1]!.startsWith(directory)
            // Node asks for 0777 in there, under a mask that the trace does not show
            const cached = found?.[1]!.startsWith(path.join(directory, "service.cache/"))
            if (ours && !cached && !modes.has(found[1]!)) modes.set(found[1]!, found[2]!)
          }
          const cache = fs.readdirSync(path.join(directory, "service.cache"), { withFileTypes: true, recursive: true })
          assert.isNotEmpty(cache)
          for (const { name, parentPath } of cache) {
            assert.strictEqual(fs.statSync(path.join(parentPath, name)).mode & 0o077, 0, name)
          }
          assert.isAbove(modes.size, 6, "the files were seen being made")
          assert.sameMembers([...new Set(modes.values())], ["0600", "0700"])
        })
      ),
    60_000
  )
})

describe.concurrent("two users of one machine", () => {
  it.live.skipIf(!may.becomeNobody)(
    "with the same default configuration and one temporary directory have a service each, and use only their own (needs setpriv)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const homes = places(kit, one, two)
          const as = yield* Effect.forEach([one, two], kit.otherUser)
          const shared = path.join(kit.paths.directory, "tmp")
          fs.mkdirSync(shared)
          fs.chmodSync(shared, 0o1777)
          const client = (verb: Verb, index: number) =>
            // these users are not in the password database, so HOME says where their service is
            clientSays(verb, "", {
              before: as[index]!,
              env: { HOME: homes[index]!, TMPDIR: shared }
            })
          const both = (verb: Verb) => Effect.all([client(verb, 0), client(verb, 1)], { concurrency: 2 })
          const ready = yield* both("ensure")
          for (const { output, value } of ready) assert.isString(value?.instanceID, output)
          const [first, second] = ready.map(({ value }) => value)
          assert.notStrictEqual(first.instanceID, second.instanceID)
          assert.deepStrictEqual(
            (yield* both("call")).map(({ value }) => value),
            [`hello from ${first.pid}`, `hello from ${second.pid}`]
          )
          const tokens = []
          for (const [index, home] of homes.entries()) {
            const directory = path.join(home, ".local/state/fixture")
            assert.strictEqual(fs.statSync(path.join(directory, "service.lock")).uid, [one, two][index])
            const program = `console.log((await import("${import.meta.resolve("@holdfast/lifecycle/Credential")}")).load("${directory}/service.secret")._tag)`
            const [command, ...args] = [...as[1 - index]!, process.execPath, "--input-type=module", "-e", program]
            assert.strictEqual(childProcess.execFileSync(command!, args, { encoding: "utf8" }), "Rejected\n")
            tokens.push(fs.readFileSync(path.join(directory, "service.secret"), "utf8"))
          }
          assert.notStrictEqual(tokens[0], tokens[1])
          assert.deepStrictEqual(fs.readdirSync(shared), [])
          yield* end(kit, first.pid, second.pid)
        })
      ),
    60_000
  )

  it.live.skipIf(!may.becomeNobody)(
    "with one fixed port: the second is told so, with the port, and neither gets anything of the other's (needs setpriv)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const directories = places(kit, one, two)
          const port = yield* freePort
          for (const [index, directory] of directories.entries()) {
            setKnobs(directory, { port })
            fs.chownSync(path.join(directory, "knobs.json"), [one, two][index]!, [one, two][index]!)
          }
          const as = yield* Effect.forEach([one, two], kit.otherUser)
          const client = (verb: Verb, index: number) => clientSays(verb, directories[index]!, { before: as[index]! })
          const first = yield* client("ensure", 0)
          assert.include(first.value?.url, String(port), first.output)
          const second = yield* client("ensure", 1)
          assert.include(second.error?.message, `Port ${port} is in use`, second.output)
          assert.strictEqual((yield* client("call", 0)).value, `hello from ${first.value.pid}`)
          assert.strictEqual((yield* client("stop", 0)).value?._tag, "Stopped")
          yield* end(kit)
        })
      ),
    60_000
  )

  it.live.skipIf(!may.becomeNobody)(
    "where the other has put something in the state directory's place: refused with the path, and nothing is written there (needs setpriv)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const [theirs] = places(kit, two)
          const place = path.join(kit.paths.directory, "squatted")
          fs.writeFileSync(path.join(theirs!, "file"), "theirs")
          const from = { before: yield* kit.otherUser(one) }
          const listed = () => below(kit.paths.directory).map((file) => [file, fs.lstatSync(file).mtimeMs])
          for (const squat of [
            () => fs.mkdirSync(place),
            () => fs.writeFileSync(place, "theirs"),
            () => fs.symlinkSync(theirs!, place),
            () => fs.symlinkSync(path.join(theirs!, "file"), place)
          ]) {
            squat()
            fs.lchownSync(place, two, two)
            const before = listed()
            const { error, output } = yield* clientSays("ensure", place, from)
            assert.strictEqual(error?._tag, "DirectoryUnusable", output)
            assert.include(error?.message, place)
            assert.deepStrictEqual(listed(), before)
            fs.rmSync(place, { recursive: true })
          }
        })
      ),
    60_000
  )
})
