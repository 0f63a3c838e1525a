/** A terminal that nobody looks at: tmux with a socket of its own, keys sent to it, and what it shows. */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { setTimeout as pause } from "node:timers/promises"

export const hasTmux = spawnSync("tmux", ["-V"]).status === 0

export interface Terminal {
  /** Of the program itself. */
  readonly pid: number
  readonly screen: () => string
  /** With what changes colours and weight. */
  readonly painted: () => string
  /** All that was ever written to it. */
  readonly written: () => string
  /** Names of keys, as `Escape` or `C-c`. */
  readonly press: (...keys: ReadonlyArray<string>) => void
  readonly type: (text: string) => void
  readonly resize: (columns: number, rows: number) => void
  /** Whether the cursor is shown, and whether a program has the screen for itself. */
  readonly modes: () => { readonly cursor: boolean; readonly alternate: boolean }
  /** Waits for what it shows; answers that. Fails with the screen. */
  readonly shows: (wanted: string | RegExp, within?: number) => Promise<string>
  readonly until: (what: string, holds: (screen: string) => boolean, within?: number) => Promise<string>
  /** Closes the window, as a person does who has had enough: the program gets SIGHUP. */
  readonly close: () => void
}

export interface TerminalOptions {
  readonly command: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where its socket and what it wrote are kept. */
  readonly directory: string
  readonly columns?: number | undefined
  readonly rows?: number | undefined
}

/** What only a programmer reads. */
const raw = /^\s*at .+:\d+|node:internal|\[cause\]|UnhandledPromise|\(FiberFailure\)/m

let opened = 0

/** Waits until something holds, looking every 50 ms; `describe` is what a failure shows. */
export const eventually = async (
  what: string,
  holds: () => boolean,
  describe: () => string,
  within = 20_000
): Promise<void> => {
  const deadline = performance.now() + within
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`Not within ${within} ms: ${what}.\n${describe()}`)
    await pause(50)
  }
}

const quoted = (words: ReadonlyArray<string>): string =>
  words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ")

/** The program's exit code and the terminal's modes are printed after it, and the terminal stays. */
const followed = (command: ReadonlyArray<string>, pidFile: string): string =>
  [
    `sh -c 'echo $$ > "$0"; exec "$@"' ${quoted([pidFile, ...command])}`,
    `echo "exit code $?"`,
    `stty -a | grep -q -- -icanon && echo raw || echo cooked`,
    `exec tail -f /dev/null`
  ].join("; ")

export const openTerminal = async (options: TerminalOptions): Promise<Terminal> => {
  const { columns = 80, command, cwd, directory, env, rows = 24 } = options
  const home = path.join(directory, `terminal-${process.pid}-${++opened}`)
  fs.mkdirSync(home, { recursive: true })
  const [pidFile, written] = [path.join(home, "pid"), path.join(home, "written")]
  const tmux = (...args: ReadonlyArray<string>): string => {
    const { status, stderr, stdout } = spawnSync(
      "tmux",
      ["-S", path.join(home, "socket"), "-f", "/dev/null", ...args],
      {
        cwd,
        env: { PATH: process.env["PATH"], TERM: "xterm-256color", LANG: "C.UTF-8", ...env },
        encoding: "utf8"
      }
    )
    if (status !== 0) throw new Error(`tmux ${args.join(" ")}: ${stderr}`)
    return stdout
  }
  // what it writes is kept from the first letter on
  const gate = path.join(home, "gate")
  const script = `until test -e '${gate}'; do sleep 0.02; done; ${followed(command, pidFile)}`
  tmux("new-session", "-d", "-x", `${columns}`, "-y", `${rows}`, "-c", cwd, "sh", "-c", script)
  const server = Number(tmux("display-message", "-p", "#{pid}"))
  // a terminal named `dumb` is one that the program takes for dumb; tmux itself names each of its own
  tmux("pipe-pane", "-O", `exec cat > '${written}'`)
  fs.writeFileSync(gate, "")

  const screen = () => {
    const shown = tmux("capture-pane", "-p")
    if (raw.test(shown)) throw new Error(`A stack trace on the screen:\n${shown}`)
    return shown
  }
  const all = () => (fs.existsSync(written) ? fs.readFileSync(written, "utf8") : "")
  const until: Terminal["until"] = async (what, holds, within) => {
    let last = ""
    const holdsNow = () => holds((last = screen()))
    await eventually(what, holdsNow, () => `${last}\n(${columns}×${rows})`, within)
    return last
  }
  await eventually("the program runs", () => fs.existsSync(pidFile) && fs.readFileSync(pidFile, "utf8") !== "", screen)
  const pid = Number(fs.readFileSync(pidFile, "utf8"))
  return {
    pid,
    screen,
    painted: () => tmux("capture-pane", "-p", "-e"),
    written: all,
    press: (...keys) => void tmux("send-keys", ...keys),
    type: (text) => void tmux("send-keys", "-l", "--", text),
    resize: (width, height) => void tmux("resize-window", "-x", `${width}`, "-y", `${height}`),
    modes: () => {
      const [cursor, alternate] = tmux("display-message", "-p", "#{cursor_flag} #{alternate_on}").trim().split(" ")
      return { cursor: cursor === "1", alternate: alternate === "1" }
    },
    shows: (wanted, within) =>
      until(
        `it shows ${wanted}`,
        (screen) => (typeof wanted === "string" ? screen.includes(wanted) : wanted.test(screen)),
        within
      ),
    until,
    close: () => {
      if (raw.test(all())) throw new Error(`A stack trace was written:\n${all()}`)
      try {
        process.kill(pid, "SIGCONT")
      } catch {
        // it has ended
      }
      if (lives(server)) process.kill(server, "SIGTERM")
    }
  }
}

export const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
