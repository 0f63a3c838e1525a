/** The terminal's user interface, from its first line to a clean terminal. */
import { createServiceClient, type PromiseServiceClient } from "@holdfast/client/promise"
import { begin } from "@holdfast/client/quick"
import * as ExitCode from "@holdfast/lock/ExitCode"
import { oneLine } from "@holdfast/lock/Problem"
import { realpathSync, statSync } from "node:fs"
import { constants } from "node:os"
import { codesearch } from "../service.ts"
import type { Wanted } from "./wanted.ts"

const directoryOf = (named: string): string | undefined => {
  try {
    const path = realpathSync(named)
    return statSync(path).isDirectory() ? path : undefined
  } catch {
    return undefined
  }
}

const failed = (message: string, code: number): void => {
  process.stderr.write(`codesearch: ${message}\n`)
  process.exitCode = code
}

export const open = async (wanted: Wanted): Promise<void> => {
  const directory = directoryOf(wanted.directory)
  if (directory === undefined)
    return failed(`Cannot read the directory ${wanted.directory}. Name a directory with --dir.`, ExitCode.usage)
  // it boots while the rest is loaded
  if (!wanted.standalone) begin(codesearch)
  // React's own warnings would be written on the screen
  process.env["NODE_ENV"] ??= "production"
  const [{ render }, { createElement }, { Screen }, { drive }, store, { initial }] = await Promise.all([
    import("ink"),
    import("react"),
    import("./Screen.ts"),
    import("./drive.ts"),
    import("./store.ts"),
    import("./State.ts")
  ])
  let service: PromiseServiceClient
  try {
    service = wanted.standalone ? await (await import("./standalone.ts")).standalone() : createServiceClient(codesearch)
  } catch (error) {
    return failed(wordsOf(error), ExitCode.unavailable)
  }
  const state = store.make(initial({ directory, standalone: wanted.standalone, service: service.current() }))
  const leaving = new AbortController()
  let left = false

  const leave = async (code: number, last: string | undefined) => {
    if (left) return
    left = true
    leaving.abort()
    screen.unmount()
    // plain lines stay where they are
    if (last !== undefined) process.stdout.write(`${wanted.plain ? "\n" : ""}${last}\n`)
    // a service that does not answer keeps nobody
    const late = new Promise<void>((resolve) => setTimeout(resolve, 1000))
    await Promise.race([service.dispose().catch(() => undefined), late])
    process.exit(code)
  }
  const fail = (error: unknown) =>
    void leave(ExitCode.software, `codesearch: Something unexpected went wrong: ${wordsOf(error)}`)
  const stays = () =>
    wanted.standalone || state.get().service.registration === null
      ? undefined
      : "CodeSearch stays in the background. Stop it with `codesearch service stop`."

  // nothing else writes on the screen while it is ours
  process.removeAllListeners("warning")
  for (const name of ["log", "info", "warn", "error", "debug"] as const) console[name] = () => undefined
  process.on("uncaughtException", fail)
  process.on("unhandledRejection", fail)
  process.stdout.on("error", () => void leave(ExitCode.software, undefined))
  process.stdin.on("error", () => void leave(ExitCode.software, undefined))
  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"] as const) {
    process.on(signal, () => void leave(128 + constants.signals[signal], signal === "SIGHUP" ? undefined : stays()))
  }
  const look = { plain: wanted.plain, color: !process.env["NO_COLOR"] }
  const screen = render(createElement(Screen, { store: state, look, fail }), {
    alternateScreen: !wanted.plain,
    exitOnCtrlC: false,
    interactive: true,
    isScreenReaderEnabled: wanted.plain,
    patchConsole: false
  })
  state.subscribe((_, now) => {
    if (now.leaving) void leave(ExitCode.ok, stays())
  })
  // a shell takes the terminal's modes back from a program that was stopped
  process.on("SIGCONT", () => {
    if (left) return
    process.stdin.setRawMode(false).setRawMode(true)
    screen.clear()
    screen.rerender(createElement(Screen, { store: state, look: { ...look }, fail }))
  })
  void screen.waitUntilExit().catch(fail)
  drive(service, state, leaving.signal)
}

const wordsOf = (error: unknown): string =>
  oneLine(error instanceof Error ? error.message : String(error))
    .trim()
    .slice(0, 300) || "for an unknown reason."
