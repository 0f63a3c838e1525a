/** The user interface as a person meets it: real terminals, real processes, and what happens to them. */
import { createServiceClient } from "@holdfast/client/promise"
import { assert, describe, it } from "vitest"
import * as fs from "node:fs"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { programOf } from "../../../scripts/programs.ts"
import * as source from "../src/service.ts"
import { type Here, inFreshPlace, main } from "./command.ts"
import { eventually, hasTmux, lives, openTerminal, type Terminal, type TerminalOptions } from "./tmux.ts"

const files = {
  "src/lock.ts": "// a file\nexport const HeldLock = 1\n",
  "src/other.ts": "import { HeldLock } from './lock.ts'\n"
}

interface Place extends Here {
  readonly open: (args?: ReadonlyArray<string>, options?: Partial<TerminalOptions>) => Promise<Terminal>
  readonly save: (name: string, text: string) => void
  /** The process id of the owner. */
  readonly owner: () => number
}

const registrationOf = (state: string) => path.join(state, "service.json")

/** Every terminal and every service that the test opened is ended, and whoever was frozen goes on first. */
const inPlace = (test: (here: Place) => Promise<void>, environment: Record<string, string> = {}): Promise<void> =>
  inFreshPlace(files, async (here) => {
    const opened: Array<Terminal> = []
    const owner = () => (JSON.parse(fs.readFileSync(registrationOf(here.state), "utf8")) as { pid: number }).pid
    const env = {
      HOME: process.env["HOME"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      CODESEARCH_STATE_DIR: here.state,
      ...environment
    }
    const open: Place["open"] = async (args = [], options = {}) => {
      const terminal = await openTerminal({
        command: [process.execPath, main, ...args],
        cwd: here.tree,
        directory: path.dirname(here.state),
        ...options,
        env: { ...env, ...options.env }
      })
      opened.push(terminal)
      return terminal
    }
    const save = (name: string, text: string) => fs.writeFileSync(path.join(here.tree, name), text)
    try {
      await test({ ...here, open, save, owner })
    } finally {
      if (fs.existsSync(registrationOf(here.state)) && lives(owner())) process.kill(owner(), "SIGCONT")
      for (const terminal of opened) terminal.close()
      for (const { pid } of opened)
        await eventually(
          "the program ends with its window",
          () => !lives(pid),
          () => String(pid)
        )
    }
  })

/** Opened, and looking at what was found. */
const searching = async (here: Place, args?: ReadonlyArray<string>, options?: Partial<TerminalOptions>) => {
  const terminal = await here.open(args, options)
  await terminal.shows("CodeSearch", 30_000)
  terminal.type("HeldLock")
  await terminal.shows(/src\/other\.ts +1 +import \{ HeldLock \}/, 30_000)
  return terminal
}

/** A line that nobody has searched for by key since: it is found although no key was pressed. */
const finds = (terminal: Terminal, name: string, within?: number) => terminal.shows(`HeldLock in ${name}`, within)

const saved = (here: Place, name: string) => here.save(`src/${name}.ts`, `// HeldLock in ${name}\n`)

const at = (body: (here: Place) => Promise<void>) => () => inPlace(body)

describe.skipIf(!hasTmux).concurrent("the user interface in a terminal (needs tmux)", { timeout: 120_000 }, () => {
  it(
    "an owner that is frozen for 30 s is said, typing goes on, and what was saved meanwhile is found by itself",
    at(async (here) => {
      const terminal = await searching(here)
      const owner = here.owner()
      process.kill(owner, "SIGSTOP")
      const since = performance.now()
      saved(here, "meanwhile")
      await terminal.shows("The background service owns the service lock but is not responding.", 30_000)
      const screen = await terminal.shows("Run `codesearch service restart` to recover it.")
      assert.match(screen, /r restart/)
      terminal.press("BSpace", "BSpace")
      assert.include(await terminal.shows(/│ HeldLo +/), "src/lock.ts")
      terminal.type("ck")
      await terminal.shows(/│ HeldLock +/)
      await eventually("30 s are over", () => performance.now() - since > 30_000, terminal.screen, 40_000)
      process.kill(owner, "SIGCONT")
      await finds(terminal, "meanwhile")
      await terminal.shows("CodeSearch v0.1.0 is ready.")
      assert.strictEqual(here.owner(), owner)
    })
  )

  it(
    "a laptop's sleep: owner and screen stand still, and go on with what is there now",
    at(async (here) => {
      const terminal = await searching(here)
      const owner = here.owner()
      const since = performance.now()
      process.kill(owner, "SIGSTOP")
      process.kill(terminal.pid, "SIGSTOP")
      saved(here, "asleep")
      // longer than the lease
      await eventually("31 s are over", () => performance.now() - since > 31_000, terminal.screen, 40_000)
      process.kill(terminal.pid, "SIGCONT")
      process.kill(owner, "SIGCONT")
      await finds(terminal, "asleep")
      await terminal.shows("CodeSearch v0.1.0 is ready.")
      terminal.press("Escape")
      await terminal.shows("Type to search.")
    })
  )

  it(
    "r restarts an owner that does not respond, and asks first",
    at(async (here) => {
      const terminal = await searching(here)
      const owner = here.owner()
      process.kill(owner, "SIGSTOP")
      await terminal.shows("is not responding.", 30_000)
      terminal.press("r")
      await terminal.shows("Restart the background service?")
      terminal.press("n")
      await terminal.shows("is not responding.")
      terminal.press("r")
      await terminal.shows("y restart")
      saved(here, "restarted")
      terminal.press("y")
      await terminal.shows("CodeSearch v0.1.0 is ready.", 30_000)
      await finds(terminal, "restarted")
      assert.notStrictEqual(here.owner(), owner)
      assert.include(terminal.screen(), "│ HeldLock ")
    })
  )

  it(
    "a boot that fails is shown with what to do, and the results are there once it was done",
    at(async (here) => {
      fs.mkdirSync(here.state, { mode: 0o700 })
      fs.writeFileSync(path.join(here.state, "service.index"), "in the way")
      const terminal = await here.open()
      const screen = await terminal.shows("another one for the service's state.", 30_000)
      assert.match(
        // the version stands at the right, wherever the sentence is broken
        screen.replaceAll("v0.1.0", "").replace(/\s+/g, " "),
        /The index in [^…]* cannot be opened: it is not a directory\. Make it a directory you can write to, or choose/
      )
      terminal.type("HeldLock")
      await terminal.shows(/│ HeldLock +/)
      fs.rmSync(path.join(here.state, "service.index"))
      await terminal.shows(/src\/lock\.ts +2 +export const HeldLock = 1/, 40_000)
      await terminal.shows("CodeSearch v0.1.0 is ready.")
    })
  )

  it(
    "a killed owner is replaced, a deleted registration comes back, and the results with them",
    at(async (here) => {
      const terminal = await searching(here)
      const owner = here.owner()
      process.kill(owner, "SIGKILL")
      await eventually("it has ended", () => !lives(owner), terminal.screen)
      saved(here, "killed")
      assert.include(terminal.screen(), "src/lock.ts")
      await finds(terminal, "killed")
      await terminal.shows("CodeSearch v0.1.0 is ready.")
      assert.notStrictEqual(here.owner(), owner)
      const next = here.owner()
      fs.rmSync(registrationOf(here.state))
      saved(here, "deleted")
      await finds(terminal, "deleted")
      await eventually("it is registered again", () => fs.existsSync(registrationOf(here.state)), terminal.screen)
      await terminal.shows("CodeSearch v0.1.0 is ready.")
      assert.strictEqual(here.owner(), next)
    })
  )

  it(
    "a newer version replaces the service under it, and it goes on with that",
    at(async (here) => {
      const terminal = await searching(here)
      const next = createServiceClient({
        ...source.codesearch,
        directory: here.state,
        version: "0.2.0",
        entry: pathToFileURL(programOf("codesearch-next"))
      })
      try {
        await next.launch({ version: "0.2.0" })
      } finally {
        await next.dispose()
      }
      await terminal.shows("CodeSearch v0.2.0 is ready.")
      saved(here, "replaced")
      await finds(terminal, "replaced")
      assert.include(terminal.screen(), "─ CodeSearch v0.2.0 ─")
    })
  )

  const stranger = async (wanted: number) => {
    const server = http.createServer((_, response) => response.end("somebody else"))
    await new Promise<void>((resolve, reject) => {
      server.on("error", reject)
      server.listen(wanted, "127.0.0.1", resolve)
    })
    const leave = () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    }
    return { port: (server.address() as AddressInfo).port, leave }
  }

  it("a stranger on the port is said with what to do, and the results are there once it has left", async () => {
    const first = await stranger(0)
    await inPlace(
      async (here) => {
        const terminal = await here.open()
        await terminal.shows(`Port ${first.port} is in use by another program.`, 30_000)
        await terminal.shows("Stop that program, or choose another port.")
        terminal.type("HeldLock")
        await first.leave()
        await terminal.shows(/src\/lock\.ts +2 +export const HeldLock = 1/, 30_000)
        const owner = here.owner()
        process.kill(owner, "SIGKILL")
        await eventually("it has ended", () => !lives(owner), terminal.screen)
        // whoever is quicker has it; both are right
        const second = await stranger(first.port).catch(() => undefined)
        if (second !== undefined) {
          await terminal.shows(`Port ${first.port} is in use by another program.`)
          assert.include(terminal.screen(), "src/lock.ts")
        }
        saved(here, "port")
        await second?.leave()
        await finds(terminal, "port", 30_000)
        await terminal.shows("CodeSearch v0.1.0 is ready.")
      },
      { CODESEARCH_PORT: String(first.port) }
    )
  }, 120_000)

  it(
    "--standalone finds the same, and writes nothing that others share",
    at(async (here) => {
      const terminal = await searching(here, ["--standalone"])
      await terminal.shows("Standalone: nothing shared is written.")
      saved(here, "alone")
      await finds(terminal, "alone")
      assert.isFalse(fs.existsSync(here.state))
      terminal.press("C-c")
      const screen = await terminal.shows(/exit code 0\s+(cooked|raw)/)
      assert.include(screen, "cooked")
      assert.notInclude(screen, "service stop")
      assert.isFalse(fs.existsSync(here.state))
    })
  )

  it(
    "quitting leaves the service and a clean terminal, and says how to stop it",
    at(async (here) => {
      const terminal = await searching(here)
      assert.deepStrictEqual(terminal.modes(), { cursor: true, alternate: true })
      const owner = here.owner()
      terminal.press("Escape")
      await terminal.shows("Esc quit (the service stays)")
      terminal.press("Escape")
      const screen = await terminal.shows(/exit code 0\s+(cooked|raw)/)
      assert.deepStrictEqual(screen.trim().split("\n"), [
        "CodeSearch stays in the background. Stop it with `codesearch service stop`.",
        "exit code 0",
        "cooked"
      ])
      assert.deepStrictEqual(terminal.modes(), { cursor: true, alternate: false })
      assert.isTrue(lives(owner))
    })
  )

  const bomb = "data:text/javascript,process.once('SIGUSR2',()=>{throw new Error('out of luck')})"
  for (const { code, how, last, signal } of [
    { how: "SIGTERM", signal: "SIGTERM", code: 143, last: /^CodeSearch stays in the background\..*$/ },
    {
      how: "an error that nobody foresaw",
      signal: "SIGUSR2",
      code: 70,
      last: /^codesearch: Something unexpected went wrong: out of luck$/
    }
  ] as const) {
    it(
      `${how} leaves a clean terminal and one line`,
      at(async (here) => {
        const command = [process.execPath, "--import", bomb, main]
        const terminal = await searching(here, [], { command })
        process.kill(terminal.pid, signal)
        const lines = (await terminal.shows("cooked")).trim().split("\n")
        assert.match(lines[0]!, last)
        assert.deepStrictEqual(lines.slice(1), [`exit code ${code}`, "cooked"])
        assert.deepStrictEqual(terminal.modes(), { cursor: true, alternate: false })
      })
    )
  }

  it(
    "a window that is closed ends it, also while the owner does not respond, and the service stays",
    at(async (here) => {
      const terminal = await searching(here)
      const owner = here.owner()
      process.kill(owner, "SIGSTOP")
      terminal.close()
      await eventually(
        "it ends",
        () => !lives(terminal.pid),
        () => ""
      )
      process.kill(owner, "SIGCONT")
      assert.isTrue(lives(owner))
    })
  )

  it(
    "80×24 and 200×50, with and without colour: everything has its place, and matches stand out",
    at(async (here) => {
      here.save("src/日本語のとても長い名前のファイルですから真ん中で切られます.ts", "// 日本語 🎉 HeldLock は広い\n")
      here.save("src/long.ts", `${"x".repeat(300)} HeldLock ${"y".repeat(300)}\n`)
      const looks = [
        [80, 24, true],
        [80, 24, false],
        [200, 50, true],
        [200, 50, false]
      ] as const
      const look = async ([columns, rows, color]: (typeof looks)[number]) => {
        const env: Record<string, string> = color ? {} : { NO_COLOR: "1" }
        const terminal = await searching(here, [], { columns, rows, env })
        const screen = await terminal.shows("4 lines")
        const lines = screen.replace(/\n$/, "").split("\n")
        assert.lengthOf(lines, rows, screen)
        assert.match(lines[0]!, /^╭─ CodeSearch v0\.1\.0 ─+ everywhere ─╮$/)
        assert.match(lines[1]!, /^│ HeldLock +4 lines │$/)
        assert.match(screen, /… *x+ HeldLock y+|…x+ HeldLock y+/)
        assert.match(screen, /日.*HeldLock は広い/)
        await terminal.shows(/── src\/lock\.ts:2 ─/)
        assert.match(screen, /● .*tree +4 files/)
        assert.include(screen, "CodeSearch v0.1.0 is ready.")
        assert.match(lines.at(-1)!, /^↑↓ choose {2}Tab search only here {2}Esc clear {2}Ctrl-C quit/)
        const colors = /\u001b\[(?:\d+;)*(?:[34][0-7]|9[0-7]|[34]8;[25];[\d;]+)(?:;\d+)*m/
        assert.strictEqual(colors.test(terminal.written()), color)
        const match = color ? /\u001b\[[\d;]*31[\d;]*mHeldLock/ : /\u001b\[[\d;]*4[\d;]*mHeldLock/
        assert.match(terminal.painted(), match)
        terminal.press("Down")
        await terminal.shows(/▸ src\/long\.ts/)
        await terminal.shows(/── src\/long\.ts:1 ─/)
      }
      await Promise.all(looks.map(look))
    })
  )

  it(
    "a terminal that changes its size is filled anew",
    at(async (here) => {
      const terminal = await searching(here)
      terminal.resize(120, 30)
      await terminal.until("it fills 120×30", (screen) => /╮\n/.test(screen) && screen.split("\n")[0]!.length === 120)
      terminal.resize(50, 12)
      await terminal.until("it fills 50×12", (screen) => screen.split("\n")[0]!.length === 50)
      await terminal.shows("is ready.")
    })
  )

  it(
    "--plain, a screen reader and a dumb terminal get plain lines, without colours and boxes",
    at(async (here) => {
      const plain = [
        { args: ["--plain"], env: [] },
        { args: [], env: ["INK_SCREEN_READER=true"] },
        { args: [], env: ["TERM=dumb"] }
      ]
      const look = async ({ args, env }: (typeof plain)[number]) => {
        const command = ["env", ...env, process.execPath, main, ...args]
        const terminal = await here.open([], { command })
        await terminal.shows("Status: CodeSearch v0.1.0 is ready.", 30_000)
        terminal.type("HeldLock")
        const screen = await terminal.shows("src/other.ts line 1: import { HeldLock }")
        assert.include(screen, "Search everywhere: HeldLock")
        assert.include(screen, "Found 2 lines.")
        assert.include(screen, "Chosen: src/lock.ts line 2: export const HeldLock = 1")
        assert.include(screen.replace(/\s+/g, " "), "Ctrl-C quit (the service stays).")
        return terminal
      }
      const terminals = await Promise.all(plain.map(look))
      saved(here, "plain")
      for (const terminal of terminals) {
        await terminal.shows("HeldLock in plain")
        terminal.press("C-c")
        const left = await terminal.shows("cooked")
        assert.include(left.replaceAll("\n", ""), "Stop it with `codesearch service stop`.")
        const written = terminal.written()
        assert.notMatch(written, /[\u2500-\u259f●▸✗◌]/)
        assert.notMatch(written, /\u001b\[[\d;]*m/)
      }
    })
  )
})

// after the others: this one is about time
describe.skipIf(!hasTmux)("two user interfaces (needs tmux)", { timeout: 60_000 }, () => {
  it(
    "show the same index, and a file that is saved in an editor is found in both within a second",
    at(async (here) => {
      const terminals = [await searching(here), await searching(here, [], { columns: 200, rows: 50 })]
      await Promise.all(terminals.map((terminal) => terminal.shows("● ")))
      const saves = async (name: string): Promise<number> => {
        // as an editor does: written beside, and renamed
        const file = path.join(here.tree, "src", `${name}.ts`)
        fs.writeFileSync(`${file}.tmp`, `// HeldLock in ${name}\n`)
        const since = performance.now()
        fs.renameSync(`${file}.tmp`, file)
        await Promise.all(terminals.map((terminal) => finds(terminal, name)))
        return performance.now() - since
      }
      // a busy machine may hold up one of them, and what is too slow by itself holds up all
      const took = [await saves("first"), await saves("second"), await saves("third")]
      for (const terminal of terminals) assert.include(await terminal.shows("5 lines"), "src/lock.ts")
      assert.isBelow(Math.min(...took), 1000, took.join(", "))
    })
  )
})
