import { assert, describe, it } from "vitest"
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { environmentOf, type Here, inFreshPlace, main, type RunOptions, written } from "./command.ts"

const files = {
  "src/lock.ts": "// a file\nexport const HeldLock = 1\n",
  "src/other.ts": "import { HeldLock } from './lock.ts'\n",
  ".gitignore": "ignored/\n",
  "ignored/secret.ts": "export const HeldLock = 2\n"
}

/** docs/exit-codes.md; a registered process that has ended is `unreachable`, and known not to run. */
const statusCodes: Readonly<Record<string, ReadonlyArray<number>>> = {
  ready: [0],
  missing: [3, 4],
  unreachable: [3, 4],
  starting: [5],
  stopping: [6],
  failed: [7]
}

const statusOf = async (here: Here) => {
  const { code, stdout } = await here.run(["service", "status", "--json"])
  assert.strictEqual(stdout.trim().split("\n").length, 1)
  const state = JSON.parse(stdout) as {
    readonly status: { readonly type: string; readonly progress?: string }
    readonly registration: { readonly pid: number } | null
    readonly health: unknown
  }
  assert.isTrue(statusCodes[state.status.type]?.includes(code ?? -1), `${state.status.type}: ${code}`)
  return state
}

describe("codesearch", () => {
  it("without a command and without a terminal says what it does, indexes the directory, shows a result and how to stop", () =>
    inFreshPlace(
      files,
      async (here) => {
        const tour = await here.run([])
        assert.strictEqual(tour.code, 0, tour.stderr)
        assert.include(tour.stdout, `Indexing ${here.tree}…`)
        assert.include(tour.stdout, "CodeSearch v0.1.0 is ready. 3 files")
        assert.match(tour.stdout, /src\/lock\.ts:2: export const HeldLock = 1/)
        assert.include(tour.stdout, "service stop")
        assert.notMatch(tour.stdout + tour.stderr, /\u001b/)
        const stays = await statusOf(here)
        assert.strictEqual(stays.status.type, "ready")
        assert.strictEqual((await here.run(["service", "stop"])).stdout, "CodeSearch stopped.\n")
        assert.deepStrictEqual(await statusOf(here), {
          status: { type: "missing" },
          registration: null,
          health: null
        } as never)
      },
      written
    ))

  it("search prints file:line: text from the shared index, skips what .gitignore excludes, and shows what it waits for", () =>
    inFreshPlace(files, async (here) => {
      const found = await here.run(["search", "heldlock"])
      assert.deepStrictEqual(found.stdout.trim().split("\n"), [
        "src/lock.ts:2: export const HeldLock = 1",
        "src/other.ts:1: import { HeldLock } from './lock.ts'"
      ])
      assert.include(found.stderr, "Starting background service…")
      const json = await here.run([
        "search",
        "HeldLock",
        "--dir",
        path.join(here.tree, "src"),
        "--limit",
        "1",
        "--json"
      ])
      const hits = JSON.parse(json.stdout) as ReadonlyArray<{
        readonly file: string
        readonly line: number
        readonly text: string
      }>
      assert.deepInclude(hits[0], {
        file: path.join(here.tree, "src/lock.ts"),
        line: 2,
        text: "export const HeldLock = 1"
      })
      assert.lengthOf(hits, 1)
      assert.strictEqual(json.stderr, "")
      const none = await here.run(["search", "nowhere to be found"])
      assert.deepStrictEqual([none.code, none.stdout], [1, ""])
      assert.strictEqual(none.stderr, `codesearch: No line in ${here.tree} contains "nowhere to be found".\n`)
    }))

  it("a saved file is found by the next search", () =>
    inFreshPlace(files, async (here) => {
      await here.run(["search", "HeldLock"])
      fs.writeFileSync(path.join(here.tree, "src/new.ts"), "const brandNew = true\n")
      const deadline = performance.now() + 5000
      let found = await here.run(["search", "brandNew"])
      while (found.code !== 0 && performance.now() < deadline) found = await here.run(["search", "brandNew"])
      assert.strictEqual(found.stdout, "src/new.ts:1: const brandNew = true\n")
    }))

  it("a boot on a known big tree is starting with progress, and every look at it is answered", () => {
    const big = Object.fromEntries(
      Array.from({ length: 4000 }, (_, n) => [`d${n % 40}/f${n}.ts`, `export const value${n} = ${n}\n`.repeat(40)])
    )
    return inFreshPlace(big, async (here) => {
      assert.strictEqual((await here.run(["search", "value7 "])).code, 0)
      assert.strictEqual((await here.run(["service", "stop"])).code, 0)
      for (const name of Object.keys(big)) fs.appendFileSync(path.join(here.tree, name), "export const more = 1\n")
      const starting = here.run(["service", "start"])
      const seen: Array<string> = []
      let state = await statusOf(here)
      while (state.status.type !== "ready") {
        if (state.registration !== null) seen.push(`${state.status.type} ${state.status.progress ?? ""}`)
        state = await statusOf(here)
      }
      // which of its words a look finds is a matter of the moment; all of them pass by whoever waits for it
      const words = /^starting (Looking through tree…|Reading [\d,]+ of 4,000 files in tree…)$/
      assert.isTrue(
        seen.some((line) => words.test(line)),
        seen.join("\n")
      )
      assert.deepStrictEqual([...new Set(seen.map((line) => line.split(" ")[0]))], ["starting"])
      const started = await starting
      assert.match(started.stdout, /^CodeSearch v0\.1\.0 is ready \(PID \d+\)\.\n$/)
      assert.match(started.stderr, /Starting CodeSearch v0\.1\.0… Reading [\d,]+ of 4,000 files in tree…/)
    })
  })

  it("status, logs, doctor and reset start nothing and create nothing", () =>
    inFreshPlace(files, async (here) => {
      for (const [code, ...args] of [
        [3, "status"],
        [3, "status", "--json"],
        [0, "logs"],
        [0, "doctor"],
        [0, "reset", "--yes"]
      ] as const) {
        const ran = await here.run(["service", ...args])
        assert.strictEqual(ran.code, code, ran.stderr)
        assert.strictEqual(ran.stderr.includes("\n    at "), false, ran.stderr)
        assert.isFalse(fs.existsSync(here.state), args.join(" "))
      }
      assert.strictEqual((await here.run(["service", "status"])).stdout, "CodeSearch is not running.\n")
    }))

  it("start attaches to the running service; restart replaces it; a second stop says that nobody runs", () =>
    inFreshPlace(files, async (here) => {
      await here.run(["service", "start"])
      const first = await statusOf(here)
      await here.run(["service", "start"])
      assert.deepStrictEqual(await statusOf(here), first)
      assert.strictEqual((await here.run(["service", "restart"])).stdout, "CodeSearch v0.1.0 is ready.\n")
      assert.notStrictEqual((await statusOf(here)).registration?.pid, first.registration?.pid)
      assert.match((await here.run(["service", "logs"])).stdout, /starting codesearch 0\.1\.0/)
      assert.strictEqual((await here.run(["service", "stop"])).stdout, "CodeSearch stopped.\n")
      const again = await here.run(["service", "stop"])
      assert.deepStrictEqual([again.code, again.stdout], [0, "CodeSearch is not running.\n"])
    }))

  it("run is the same service in the foreground: it logs to the terminal, is found by others, and ends with its terminal", () =>
    inFreshPlace(files, async (here) => {
      const child = spawn(process.execPath, [main, "service", "run"], {
        cwd: here.tree,
        env: environmentOf(here.state),
        stdio: ["ignore", "pipe", "inherit"]
      })
      let printed = ""
      child.stdout.on("data", (data) => (printed += data))
      const ended = new Promise<number | null>((resolve) => child.on("exit", resolve))
      let state = await statusOf(here)
      const deadline = performance.now() + 10_000
      while (state.status.type !== "ready" && performance.now() < deadline) state = await statusOf(here)
      assert.strictEqual(state.status.type, "ready")
      assert.include(printed, "starting codesearch 0.1.0")
      const second = await here.run(["service", "run"])
      assert.strictEqual(second.code, 69)
      assert.include(second.stderr, `Already running with PID ${state.registration?.pid}.`)
      child.kill("SIGINT")
      await ended
      assert.strictEqual((await statusOf(here)).status.type, "missing")
    }))
})

/** A line of shell, as a person would type it, with `codesearch` as a command. */
const shell = (here: Here, line: string) =>
  spawnSync("bash", ["--norc", "-c", `codesearch() { "${process.execPath}" "${main}" "$@"; }; ${line}`], {
    cwd: here.tree,
    env: environmentOf(here.state),
    encoding: "utf8",
    timeout: 20_000
  })

describe("in a shell", () => {
  it("the service keeps no lock and no pipe of the shell it was started from", () =>
    inFreshPlace(files, async (here) => {
      const held = shell(
        here,
        `( flock -n 200 && codesearch service start >/dev/null ) 200>held; flock -n held true && echo free`
      )
      assert.strictEqual(held.stdout, "free\n", held.stderr)
      await here.run(["service", "stop"])
      const captured = shell(here, `x=$( { codesearch service start 200>&1; } ); echo "got: $x"`)
      assert.match(captured.stdout, /^got: CodeSearch v0\.1\.0 is ready \(PID \d+\)\.\n$/)
    }))

  it("a reader that has read enough ends a search quietly", () => {
    const long = { "long.txt": "a line to be found\n".repeat(5000) }
    return inFreshPlace(long, async (here) => {
      await here.run(["search", "line"])
      const piped = shell(here, `codesearch search line --limit 1000 | head -1`)
      assert.deepStrictEqual([piped.stdout, piped.stderr], ["long.txt:1: a line to be found\n", ""])
    })
  })

  it("a current directory that is gone is one line where it counts, and nothing where it does not", () =>
    inFreshPlace(files, async (here) => {
      const gone = shell(here, `mkdir gone; cd gone; rmdir "$PWD"; codesearch service status; codesearch search x`)
      assert.strictEqual(gone.stdout, "CodeSearch is not running.\n")
      assert.lengthOf(gone.stderr.trim().split("\n"), 1, gone.stderr)
      assert.match(gone.stderr, /^codesearch: Cannot read the directory \.: it is not there\./)
    }))
})

describe.concurrent("a service that is not as it should be", () => {
  it("that was killed is not running, and says so", () =>
    inFreshPlace(files, async (here) => {
      await here.run(["service", "start"])
      const { registration } = await statusOf(here)
      process.kill(registration!.pid, "SIGKILL")
      const deadline = performance.now() + 5000
      let said = await here.run(["service", "status"])
      while (!said.stdout.includes("not running") && performance.now() < deadline)
        said = await here.run(["service", "status"])
      assert.strictEqual(said.stdout, "CodeSearch is not running. It ended without being stopped.\n")
    }))

  it(
    "that does not respond is said while somebody waits for it, with the way out",
    () =>
      inFreshPlace(files, async (here) => {
        await here.run(["service", "start"])
        const { registration } = await statusOf(here)
        process.kill(registration!.pid, "SIGSTOP")
        const child = spawn(process.execPath, [main, "search", "HeldLock"], {
          cwd: here.tree,
          env: environmentOf(here.state),
          stdio: ["ignore", "ignore", "pipe"]
        })
        const told = await new Promise<string>((resolve, reject) => {
          let stderr = ""
          AbortSignal.timeout(25_000).addEventListener("abort", () => reject(new Error(`It only said: ${stderr}`)))
          child.stderr.on("data", (data) => {
            stderr += data
            if (stderr.includes("is not responding")) resolve(stderr)
          })
        })
        assert.include(
          told,
          "The background service owns the service lock but is not responding. Run `codesearch service restart` to recover it."
        )
        const ended = new Promise<number | null>((resolve) => child.on("exit", resolve))
        process.kill(registration!.pid, "SIGCONT")
        assert.strictEqual(await ended, 0)
      }),
    60_000
  )

  it("whose secret others can read can be stopped, and says what to do", () =>
    inFreshPlace(files, async (here) => {
      await here.run(["service", "start"])
      const secret = path.join(here.state, "service.secret")
      fs.chmodSync(secret, 0o644)
      const refused = await here.run(["search", "HeldLock"])
      assert.strictEqual(refused.code, 77)
      assert.match(refused.stderr, /Other users may read the secret .* \(mode 644\)\. Stop the service, then run: rm '/)
      assert.strictEqual((await here.run(["service", "stop"])).stdout, "CodeSearch stopped.\n")
      fs.rmSync(secret)
      assert.strictEqual((await here.run(["search", "HeldLock"])).code, 0)
    }))

  it("whose log is a FIFO blocks nobody", () =>
    inFreshPlace(files, async (here) => {
      fs.mkdirSync(here.state, { mode: 0o700 })
      spawnSync("mkfifo", [path.join(here.state, "service.log")])
      for (const args of [
        ["service", "logs"],
        ["service", "start"]
      ]) {
        const ran = await here.run(args)
        assert.strictEqual(ran.code, 73, args.join(" "))
        assert.lengthOf(ran.stderr.trim().split("\n"), 1, ran.stderr)
      }
    }))

  it("run in the foreground ends when its terminal is closed", () =>
    inFreshPlace(files, async (here) => {
      const child = spawn(process.execPath, [main, "service", "run"], {
        cwd: here.tree,
        env: environmentOf(here.state),
        stdio: "ignore",
        detached: true
      })
      const deadline = performance.now() + 10_000
      while ((await statusOf(here)).status.type !== "ready" && performance.now() < deadline);
      process.kill(-child.pid!, "SIGHUP") // what the kernel sends to the group when its terminal goes
      let state = await statusOf(here)
      while (state.registration !== null && performance.now() < deadline) state = await statusOf(here)
      assert.isNull(state.registration)
    }))
})

describe("bad input gives one clear line, a documented exit code, and changes nothing", () => {
  const snapshot = (directory: string): string => {
    const list = spawnSync("find", [directory, "-printf", "%p %m %u %s %T@\n"], { encoding: "utf8" })
    return list.stdout
  }

  interface Bad {
    readonly what: string
    readonly args: ReadonlyArray<string>
    readonly code: number
    readonly line: RegExp
    readonly prepare?: (here: Here) => RunOptions
  }

  const asNobody = ["setpriv", "--reuid", "12345", "--clear-groups"]
  const table: ReadonlyArray<Bad> = [
    {
      what: "an unknown flag",
      args: ["search", "x", "--frobnicate"],
      code: 1,
      line: /Unrecognized flag: --frobnicate/
    },
    { what: "an unknown command", args: ["service", "frobnicate"], code: 1, line: /Unknown subcommand "frobnicate"/ },
    { what: "no query", args: ["search"], code: 1, line: /query/ },
    {
      what: "an empty query",
      args: ["search", ""],
      code: 64,
      line: /The text to find has no or more than 256 characters/
    },
    { what: "a limit of 0", args: ["search", "x", "--limit", "0"], code: 64, line: /--limit 0 is out of range/ },
    { what: "a limit that is no number", args: ["search", "x", "--limit", "many"], code: 1, line: /limit/ },
    {
      what: "a directory that is not there",
      args: ["search", "x", "--dir", "/no/such/place"],
      code: 64,
      line: /Cannot read the directory \/no\/such\/place: it is not there/
    },
    {
      what: "a file in place of a directory",
      args: ["search", "x", "--dir", "src/lock.ts"],
      code: 64,
      line: /src\/lock\.ts is not a directory/
    },
    {
      what: "a state directory that is a file",
      args: ["search", "x"],
      code: 73,
      line: /Cannot use the state directory .*: it, or a part of its path, is not a directory/,
      prepare: (here) => (fs.writeFileSync(here.state, "mine"), {})
    },
    {
      what: "a state directory of another user",
      args: ["service", "start"],
      code: 73,
      line: /belongs to another user \(uid 12345\)/,
      prepare: (here) => (fs.mkdirSync(here.state, { mode: 0o700 }), fs.chownSync(here.state, 12345, 12345), {})
    },
    {
      what: "a state directory that others may write to",
      args: ["service", "start"],
      code: 73,
      line: /Other users may write to the state directory .*\. Run: chmod 700/,
      prepare: (here) => (fs.mkdirSync(here.state), fs.chmodSync(here.state, 0o777), {})
    },
    {
      what: "a state directory that cannot be written",
      args: ["service", "start"],
      code: 73,
      line: /Cannot use the state directory .*: permission denied/,
      prepare: (here) => {
        fs.chmodSync(path.dirname(here.state), 0o755)
        fs.mkdirSync(here.state)
        fs.chownSync(here.state, 12345, 12345)
        fs.chmodSync(here.state, 0o500)
        return { before: asNobody, cwd: "/" }
      }
    },
    {
      what: "a state directory where nothing can be created",
      args: ["service", "start"],
      code: 73,
      line: /Cannot use the state directory \/proc\/codesearch: a part of its path is missing/,
      prepare: () => ({ environment: { CODESEARCH_STATE_DIR: "/proc/codesearch" } })
    },
    {
      what: "a channel named ../x",
      args: ["service", "status"],
      code: 64,
      line: /The channel "\.\.\/x" is not a valid name\. Use 1 to 32 of: a-z, 0-9 and _\./,
      prepare: () => ({ environment: { CODESEARCH_CHANNEL: "../x" } })
    },
    {
      what: "a profile with a dash",
      args: ["search", "x"],
      code: 64,
      line: /The profile "a-b" is not a valid name/,
      prepare: () => ({ environment: { CODESEARCH_PROFILE: "a-b" } })
    }
  ]

  for (const { args, code, line, prepare, what } of table) {
    it(`${what}: \`codesearch ${args.join(" ")}\``, () =>
      inFreshPlace(files, async (here) => {
        const options = prepare?.(here) ?? {}
        const before = snapshot(path.dirname(here.tree))
        const ran = await here.run(args, options)
        assert.strictEqual(ran.code, code, ran.stderr)
        assert.lengthOf(ran.stderr.trim().split("\n"), 1, ran.stderr)
        assert.match(ran.stderr, line)
        assert.notMatch(ran.stderr + ran.stdout, /\n\s+at |node:internal|Error:/)
        assert.strictEqual(snapshot(path.dirname(here.tree)), before)
        fs.rmSync(here.state, { recursive: true, force: true })
      }))
  }
})
