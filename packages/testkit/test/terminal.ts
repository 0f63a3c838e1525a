/** A program in a pseudo-terminal, whose other end is ours: to type into, and to close. */
import { Effect, type Scope } from "effect"
import * as childProcess from "node:child_process"
import { environmentOf } from "./elsewhere.ts"

const holder = `
import os, pty, select, sys
pid, screen = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
os.write(2, b"pid %d\\n" % pid)
heard = [0, screen]
while True:
    ready = select.select(heard, [], [], 0.05)[0]
    if screen in ready:
        try: text = os.read(screen, 4096)
        except OSError: text = b""
        if text: os.write(1, text)
        else: heard.remove(screen)
    if 0 in ready:
        order = os.read(0, 64)
        if order == b"close":
            if screen in heard: heard.remove(screen)
            os.close(screen)
        elif order: os.write(screen, order)
        else: sys.exit()
    if os.waitpid(pid, os.WNOHANG)[0]:
        # what it said last may have come since we looked
        while screen in heard and select.select([screen], [], [], 0)[0]:
            try: text = os.read(screen, 4096)
            except OSError: break
            if not text: break
            os.write(1, text)
        sys.exit()
`

export interface Terminal {
  /** The program's: it leads the session and the foreground group of its terminal. */
  readonly pid: number
  readonly output: () => string
  readonly type: (keys: string) => void
  /** Closes the window. */
  readonly close: () => void
}

/** When the scope closes, the terminal closes, as with a window that is killed. */
export const terminal = (command: ReadonlyArray<string>): Effect.Effect<Terminal, never, Scope.Scope> =>
  Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => childProcess.spawn("python3", ["-c", holder, ...command], { env: environmentOf() })),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    )
    let output = ""
    child.stdout.on("data", (text: Buffer) => (output += text.toString()))
    child.stdin.on("error", () => undefined)
    const pid = yield* Effect.promise(
      () =>
        new Promise<number>((resolve, reject) => {
          let said = ""
          child.stderr.on("data", (text: Buffer) => {
            said += text.toString()
            const found = /^pid (\d+)\n/.exec(said)
            if (found !== null) resolve(Number(found[1]))
          })
          child.on("exit", () => reject(new Error(`There is no terminal: ${said}`)))
        })
    )
    return {
      pid,
      output: () => output,
      type: (keys) => void child.stdin.write(keys),
      close: () => void child.stdin.write("close")
    }
  })
