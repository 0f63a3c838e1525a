/** Something mounted over a directory, until it is undone. */
import * as Effect from "effect/Effect"

const { spawn } = process.getBuiltinModule("node:child_process")

/**
 * Answers with what undoes it, or fails with what the system said. A shell does it, and undoes it when its standard input
 * ends: when it is told to, and also when this process is killed. Signals to this process's group do not reach it.
 */
export const mount = (directory: string, commands: ReadonlyArray<string>): Effect.Effect<Effect.Effect<void>, string> =>
  Effect.callback((resume) => {
    const [first, ...rest] = commands
    const script = [
      "trap '' HUP INT TERM",
      `${first} || exit 1`,
      `{ ${[...rest, "echo mounted", "cat >/dev/null"].join(" && ")}; }`,
      'umount -l "$1"'
    ].join("\n")
    const child = spawn("sh", ["-c", script, "sh", directory], {
      cwd: "/",
      detached: true,
      env: { PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin" },
      stdio: ["pipe", "pipe", "pipe"]
    })
    let said = ""
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
    child.stderr.on("data", (text: Buffer) => (said += text.toString()))
    child.stdin.on("error", () => undefined) // it ended before it was told to
    child.once("error", (error) => resume(Effect.fail(error.message)))
    child.once("close", () => resume(Effect.fail(said.trim())))
    child.stdout.once("data", () =>
      resume(
        Effect.succeed(
          Effect.promise(() => {
            child.stdin.end()
            return ended
          })
        )
      )
    )
  })
