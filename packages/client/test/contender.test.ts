import { assert, describe, it } from "@effect/vitest"
import { parseHandOver, type StartupOutcome } from "@holdfast/lifecycle/StartupOutcome"
import { paths as pathsOf } from "@holdfast/lock/ServicePaths"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import {
  type ContenderEvent,
  environmentOf,
  launchOf,
  loaderFlags,
  moduleOf,
  start
} from "../src/internal/contender.ts"
import { registration, spec, temporary, until } from "./support.ts"

describe("the module of an entry", () => {
  const cases = [
    ["is the file as written, where there is one", "daemon.ts", ["daemon.ts", "daemon.js", "daemon.mjs"], "daemon.ts"],
    ["is what was compiled from it, where only that is left", "daemon.ts", ["daemon.js", "daemon.mjs"], "daemon.js"],
    ["or what was bundled from it", "daemon.ts", ["daemon.mjs"], "daemon.mjs"],
    ["of a .mts is a .mjs", "daemon.mts", ["daemon.js", "daemon.mjs"], "daemon.mjs"],
    ["of a .cts is a .cjs", "daemon.cts", ["daemon.js", "daemon.cjs"], "daemon.cjs"],
    ["is as written where nothing is left: that is what an error names", "daemon.ts", [], "daemon.ts"],
    ["that is written as JavaScript is never TypeScript", "daemon.js", ["daemon.ts"], "daemon.js"]
  ] as const
  for (const [name, written, files, expected] of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        for (const file of files) fs.writeFileSync(path.join(directory, file), "")
        assert.strictEqual(path.basename(moduleOf(pathToFileURL(path.join(directory, written)))), expected)
      })
    )
  }
})

describe("the environment of a service", () => {
  const caller = {
    PATH: "/bin",
    HOME: "/home/ada",
    USER: "ada",
    SHELL: "/bin/sh",
    LANG: "C",
    LC_ALL: "C",
    LC_TIME: "C",
    TZ: "UTC",
    TMPDIR: "/tmp",
    NODE_OPTIONS: "--inspect",
    NODE_PATH: "/evil",
    LD_PRELOAD: "/evil.so",
    HOLDFAST_SERVICE: "{}",
    AWS_SECRET_ACCESS_KEY: "k",
    HTTP_PROXY: "http://p",
    BUN_OPTIONS: "--inspect",
    LC_: "x",
    XPATH: "x",
    PATHX: "x",
    EDITOR: "vi",
    UNSET: undefined,
    SystemRoot: "C:\\Windows",
    Path: "C:\\bin",
    LOCALAPPDATA: "C:\\l",
    TEMP: "C:\\t"
  }
  const documented = ["PATH", "HOME", "USER", "SHELL", "LANG", "LC_ALL", "LC_TIME", "TZ", "TMPDIR"]
  const names = (environment: ReadonlyArray<string> | undefined, platform: NodeJS.Platform = "linux") =>
    Object.keys(environmentOf(environment === undefined ? spec : { ...spec, environment }, caller, platform))

  it("is the documented names and nothing else", () => {
    assert.sameMembers(names(undefined), documented)
    assert.deepStrictEqual(environmentOf(spec, caller, "linux")["HOME"], "/home/ada")
  })

  it("and the names that its author lists, where the caller has them", () => {
    assert.sameMembers(names(["EDITOR", "AWS_SECRET_ACCESS_KEY", "UNSET", "ABSENT"]), [
      ...documented,
      "EDITOR",
      "AWS_SECRET_ACCESS_KEY"
    ])
  })

  it("names are taken as they are, not as patterns", () => {
    assert.sameMembers(names(["EDI*", ".*", "AWS_SECRET"]), documented)
  })

  it("has the essentials of Windows on Windows, in any case of letters", () => {
    assert.sameMembers(names(undefined, "win32"), [...documented, "SystemRoot", "Path", "LOCALAPPDATA", "TEMP"])
  })

  it.each<[string, NodeJS.Platform, string]>([
    ["NODE_OPTIONS", "linux", "NODE_OPTIONS"],
    ["Node_Options, as Windows reads it", "win32", "Node_Options"]
  ])("never has %s, even when its author lists it", (_, platform, name) => {
    const found = environmentOf({ ...spec, environment: [name] }, { ...caller, [name]: "--inspect" }, platform)
    assert.notInclude(
      Object.keys(found).map((one) => one.toUpperCase()),
      "NODE_OPTIONS"
    )
  })
})

describe("the flags by which the runtime loads its modules", () => {
  it.each<[ReadonlyArray<string>, ReadonlyArray<string>]>([
    [[], []],
    [
      ["--import", "tsx"],
      ["--import", "tsx"]
    ],
    [["--import=tsx"], ["--import=tsx"]],
    [
      ["-r", "./hook.cjs", "--require", "./b.cjs"],
      ["-r", "./hook.cjs", "--require", "./b.cjs"]
    ],
    [
      ["-C", "development", "--conditions=dev"],
      ["-C", "development", "--conditions=dev"]
    ],
    [
      ["--loader", "ts-node/esm", "--experimental-loader=x"],
      ["--loader", "ts-node/esm", "--experimental-loader=x"]
    ],
    [
      ["--experimental-strip-types", "--experimental-transform-types"],
      ["--experimental-strip-types", "--experimental-transform-types"]
    ],
    [
      ["--no-warnings", "--disable-warning=ExperimentalWarning", "--enable-source-maps"],
      ["--no-warnings", "--disable-warning=ExperimentalWarning", "--enable-source-maps"]
    ],
    [
      ["--preload", "./p.ts"],
      ["--preload", "./p.ts"]
    ],
    [["--inspect", "--inspect-brk=9229", "--inspect-port", "0"], []],
    [["-e", "process.exit()"], []],
    [
      ["--eval", "1", "--import", "tsx"],
      ["--import", "tsx"]
    ],
    [["--watch", "--test", "--prof", "--max-old-space-size=4096", "--title", "x"], []],
    [["--important", "--requires=x", "--imports"], []]
  ])("of %j are %j", (flags, kept) => {
    assert.deepStrictEqual(loaderFlags(flags), kept)
  })
})

describe("what makes a process a contender", () => {
  it("this runtime with the entry's file, or the author's own command as it is", () => {
    const paths = pathsOf({ ...spec, directory: "/s" })
    const entry = new URL("file:///opt/with%20space/daemon.ts")
    const mine = launchOf({ ...spec, entry }, paths)
    assert.strictEqual(mine.command, process.execPath)
    assert.strictEqual(mine.args.at(-1), "/opt/with space/daemon.ts")
    const theirs = launchOf({ ...spec, entry: { command: "hello", args: ["serve", "--quiet"] } }, paths)
    assert.deepStrictEqual([theirs.command, theirs.args], ["hello", ["serve", "--quiet"]])
  })

  it("the contender is told which service it is for, as it was resolved here", () => {
    const paths = pathsOf({ ...spec, profile: "work", directory: "/s" })
    const told = (how?: Parameters<typeof launchOf>[2]) =>
      parseHandOver(launchOf({ ...spec, profile: "work" }, paths, how).env["HOLDFAST_SERVICE"])
    assert.deepStrictEqual(told(), { app: "hello", channel: "stable", profile: "work", directory: "/s" })
    assert.deepInclude(told({ pipe: 4 }), { pipe: 4 })
    assert.deepInclude(told({ foreground: true }), { foreground: true })
  })
})

/** A contender that is a shell script, which ends by itself. */
const run = (script: string) =>
  Effect.gen(function* () {
    const directory = yield* temporary
    const paths = pathsOf({ ...spec, directory })
    const contender = yield* Effect.acquireRelease(
      Effect.sync(() => start({ ...spec, entry: { command: "sh", args: ["-c", script] } }, paths)),
      (contender) => Effect.sync(() => contender.release())
    )
    const events: Array<ContenderEvent> = []
    contender.follow((event) => void events.push(event))
    yield* until("it has ended", () => events.some(({ type }) => type === "exited"))
    return { events, paths, contender }
  })

const say = (outcome: StartupOutcome) => `echo '${JSON.stringify(outcome)}' >&4`

describe("what is heard of a contender", () => {
  const unusable: StartupOutcome = {
    type: "unusable",
    kind: "port",
    path: "127.0.0.1:80",
    message: "Taken.",
    action: "Choose."
  }

  it.live("each outcome as it was said, then how it ended, and nothing of what else it prints", () =>
    Effect.gen(function* () {
      const starting: StartupOutcome = { type: "starting", registration, token: "t" }
      const { events } = yield* run(
        `echo noise >&4; ${say(starting)}; echo '{"type":"odd"}' >&4; ${say({ type: "ready" })}; exit 3`
      )
      assert.deepStrictEqual(
        events.map(({ type }) => type),
        ["starting", "ready", "exited"]
      )
      assert.deepStrictEqual(events[0], starting)
      assert.deepInclude(events[2], { type: "exited", code: 3 })
    })
  )

  it.live("its last word is heard before its end, every time", () =>
    Effect.gen(function* () {
      const heard = yield* Effect.forEach(
        Array.from({ length: 60 }),
        () =>
          Effect.scoped(
            Effect.map(run(`${say(unusable)}; exit 73`), ({ events }) => events.map(({ type }) => type).join())
          ),
        { concurrency: 6 }
      )
      assert.deepStrictEqual([...new Set(heard)], ["unusable,exited"])
    })
  )

  it.live("an outcome that comes in pieces, also in the middle of a letter, is put together", () =>
    Effect.gen(function* () {
      // longer than a pipe holds, with every even byte in the middle of a letter
      const message = `x${"ö".repeat(100_000)}`
      const file = path.join(yield* temporary, "outcome")
      fs.writeFileSync(file, `${JSON.stringify({ type: "failed", message, action: "Run: x" })}\n`)
      const { events } = yield* run(`cat ${file} >&4`)
      const [first] = events
      assert.strictEqual(first?.type === "failed" ? first.message.replaceAll("ö", "") : first?.type, "x")
      assert.strictEqual(first?.type === "failed" ? first.message.length : 0, message.length)
    })
  )

  it.live("who begins to listen late hears it all", () =>
    Effect.gen(function* () {
      const { contender, events } = yield* run(`${say({ type: "held", pid: 7 })}`)
      const late: Array<ContenderEvent> = []
      contender.follow((event) => void late.push(event))
      assert.deepStrictEqual(late, events)
      assert.deepStrictEqual(
        events.map(({ type }) => type),
        ["held", "exited"]
      )
    })
  )

  it.live.each<[string, string, string]>([
    [
      "the last error in its log",
      "echo starting; echo 'Error: no such index' >&2; echo '    at main (x.ts:1:1)' >&2; echo 'Node.js v24' >&2; exit 1",
      "Error: no such index"
    ],
    ["else the last line", "echo one; echo two; exit 1", "two"],
    ["else its exit code", "exit 5", "it ended with code 5"],
    ["or the signal", "kill -9 $$", "it ended with SIGKILL"]
  ])("the diagnostic is %s", ([, script, diagnostic]) =>
    Effect.gen(function* () {
      const { events } = yield* run(script)
      assert.deepInclude(events.at(-1), { type: "exited", diagnostic })
    })
  )

  it.live("an earlier process's last words are not taken for its own", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const paths = pathsOf({ ...spec, directory })
      fs.writeFileSync(paths.log, "Error: of long ago\n")
      const contender = start({ ...spec, entry: { command: "sh", args: ["-c", "exit 1"] } }, paths)
      const events: Array<ContenderEvent> = []
      contender.follow((event) => void events.push(event))
      yield* until("it has ended", () => events.length > 0)
      contender.release()
      assert.deepInclude(events[0], { diagnostic: "it ended with code 1" })
    })
  )

  it.live("a command that does not exist, or may not be run, cannot be started", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const paths = pathsOf({ ...spec, directory })
      const plain = path.join(directory, "plain")
      fs.writeFileSync(plain, "", { mode: 0o644 })
      for (const [command, reason] of [
        [path.join(directory, "absent"), "there is no such program"],
        [plain, "EACCES"]
      ] as const) {
        const events: Array<ContenderEvent> = []
        const contender = start({ ...spec, entry: { command, args: [] } }, paths)
        contender.follow((event) => void events.push(event))
        yield* until("it is heard", () => events.length > 0)
        contender.release()
        assert.deepStrictEqual(events, [{ type: "unstartable", command, reason }])
      }
    })
  )

  it.live(
    "it works in the service's directory, in a session of its own, with closed input, its output in a private log",
    () =>
      Effect.gen(function* () {
        const { contender, paths } = yield* run("pwd; ps -o sid= -p $$ | tr -d ' '; read line || echo eof; env")
        const lines = fs.readFileSync(paths.log, "utf8").trim().split("\n")
        assert.deepStrictEqual(lines.slice(0, 3), [paths.directory, String(contender.pid), "eof"])
        assert.isFalse(lines.some((line) => /^(NODE_OPTIONS|VITEST)/.test(line)))
        assert.strictEqual(fs.statSync(paths.log).mode & 0o777, 0o600)
      })
  )
})
