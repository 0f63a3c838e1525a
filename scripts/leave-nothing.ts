/**
 * A test run leaves nothing behind: it has a temporary directory of its own, and fails when files, sockets or processes
 * are left in it at the end. Vitest calls `setup` before the first test and `teardown` after the last.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { processesOf } from "./left-behind.ts"

const variable = "TMPDIR"

let before: string | undefined
let own = ""

export const setup = (): void => {
  before = process.env[variable]
  own = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "tests-")))
  fs.chmodSync(own, 0o1777) // tests are other users, too
  process.env[variable] = own
}

/** Who ends at this moment has a little while for it. */
const patience = 5000

export const teardown = async (patienceMs = patience): Promise<void> => {
  if (before === undefined) delete process.env[variable]
  else process.env[variable] = before
  const until = performance.now() + patienceMs
  const left = () => [
    ...processesOf(own).map(({ command, pid }) => `process ${pid} ${command}`),
    ...fs.readdirSync(own, { recursive: true }).map((file) => `file ${path.join(own, String(file))}`)
  ]
  while (left().length > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 50))
  const found = left()
  if (found.length > 0) throw new Error(`The tests left behind:\n${found.slice(0, 40).join("\n")}`)
  fs.rmdirSync(own)
}
