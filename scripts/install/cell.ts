/** One way to run the README's service and client: it starts, is found again, is ready, stops, and leaves nothing. */
import * as assert from "node:assert/strict"
import * as fs from "node:fs"
import * as path from "node:path"
import { processesOf } from "../left-behind.ts"
import { type Ran, run } from "./run.ts"

export interface Cell {
  readonly name: string
  readonly cwd: string
  /** Where this cell's service has its files. */
  readonly state: string
  readonly client: ReadonlyArray<string>
  /** Answers `service status --json`. */
  readonly main: ReadonlyArray<string>
  /** Takes the other commands. */
  readonly commandLine: ReadonlyArray<string>
  readonly environment?: Readonly<Record<string, string>>
  /** How the lock must have been taken. */
  readonly lock?: string
}

export const tryOut = async ({
  client,
  commandLine,
  cwd,
  environment,
  lock,
  main,
  name,
  state
}: Cell): Promise<void> => {
  const ask = ([command, ...args]: ReadonlyArray<string>, ...more: ReadonlyArray<string>) =>
    run(command!, [...args, ...more], { cwd, environment: { ...environment, HELLO_STATE_DIR: state } })
  const said = (ran: Ran) => `${name}: ended with ${ran.status}\n${ran.stdout}${ran.stderr}${logOf(state)}`
  try {
    for (const what of ["starts it", "finds it"]) {
      const ran = await ask(client)
      assert.deepEqual(ran, { status: 0, stdout: "hello\n", stderr: "" }, `a client ${what}: ${said(ran)}`)
    }
    const status = await ask(main, "service", "status", "--json")
    assert.equal(status.status === 0 && JSON.parse(status.stdout).status.type, "ready", said(status))
    if (lock !== undefined) {
      const doctor = await ask(commandLine, "service", "doctor")
      assert.ok(doctor.stdout.includes(`lock primitive  ${lock};`), `the lock is not by ${lock}: ${said(doctor)}`)
    }
  } finally {
    const stopped = await ask(commandLine, "service", "stop")
    assert.equal(stopped.stdout, "hello stopped.\n", said(stopped))
  }
  const starts = logOf(state).match(/ starting hello /g)?.length
  assert.equal(starts, 1, `${name}: ${starts} services were started\n${logOf(state)}`)
  assert.deepEqual(processesOf(state), [], name)
}

const logOf = (state: string): string => {
  const log = path.join(state, "service.log")
  return fs.existsSync(log) ? fs.readFileSync(log, "utf8") : ""
}
