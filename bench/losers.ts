/** What a contender that loses costs as a whole process, on every runtime, against the same runtime doing nothing. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { launchOf } from "../packages/client/src/Spawner.ts"
import { paths } from "../packages/lock/src/ServicePaths.ts"
import { runtimes } from "../packages/lock/test/support.ts"
import { fixture } from "../packages/testkit/test/fixture/service.ts"
import { bundled as bundle } from "../scripts/bundle.ts"
import { type Candidate, measure, median } from "./measure.ts"

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const runs = 20

/** Each program by itself, with the one native package outside of it. */
export const bundled = async (root: string): Promise<string> => {
  const directory = path.join(root, "losers")
  const programs = {
    daemon: "examples/minimal/src/daemon.ts",
    byLock: "bench/losing/byLock.ts",
    fixture: "packages/testkit/test/fixture/daemon.ts"
  }
  for (const [name, source] of Object.entries(programs)) await bundle(path.join(directory, name), { [name]: source })
  return directory
}

/** Runs `use` while an owner of the state directory runs. */
const owned = async <A>(
  state: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
  use: () => A
): Promise<A> => {
  fs.mkdirSync(state, { mode: 0o700, recursive: true })
  const owner = spawn(process.execPath, [...args], { cwd: state, env, stdio: "ignore" })
  try {
    await until(() => fs.existsSync(path.join(state, "service.json")), owner)
    return use()
  } finally {
    owner.kill("SIGKILL")
  }
}

const until = async (condition: () => boolean, owner: ChildProcess): Promise<void> => {
  const deadline = performance.now() + 20_000
  while (!condition()) {
    if (performance.now() > deadline || owner.exitCode !== null) throw new Error("The owner did not come up.")
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Medians of what each run took more than the bare runtime in the same round. */
const added = (bare: ReadonlyArray<number>, ours: ReadonlyArray<number>): number =>
  median(ours.map((value, round) => value - bare[round]!))

export const losers = async (root: string, bundle: string): Promise<ReadonlyArray<readonly [string, string]>> => {
  const state = path.join(root, "hello")
  const environment = { HELLO_STATE_DIR: state, PATH: process.env["PATH"] ?? "" }
  const lock = path.join(state, "service.lock")
  return owned(state, [path.join(bundle, "daemon", "daemon.mjs")], environment, () =>
    runtimes
      .filter(({ installed }) => installed)
      .map(({ command, name }) => {
        const preload = [name === "bun" ? "--preload" : "--require", file("./losing/peak.cjs")]
        const peaks: ReadonlyArray<Array<number>> = [[], [], []]
        const candidate = (args: ReadonlyArray<string>, peak?: Array<number>): Candidate => ({
          name: `${name} ${args.join(" ")}`,
          command,
          args: () => (peak === undefined ? args : [...preload, ...args]),
          environment,
          ...(peak === undefined ? {} : { after: (said) => void peak.push(Number(/peak (\d+)/.exec(said)![1]) / 1024) })
        })
        const each = [
          [file("./losing/empty.mjs")],
          [path.join(bundle, "daemon", "daemon.mjs")],
          [path.join(bundle, "byLock", "byLock.mjs"), lock]
        ]
        const [bare, byNote, byLock] = measure(
          runs,
          each.map((args) => candidate(args))
        )
        measure(
          runs,
          each.map((args, index) => candidate(args, peaks[index]))
        )
        const cost = (times: ReadonlyArray<number>, memory: ReadonlyArray<number>) =>
          `${added(bare!, times).toFixed(1)} ms, ${added(peaks[0]!, memory).toFixed(1)} MB`
        return [
          `a contender that loses under ${name}, more than the bare runtime (${median(bare!).toFixed(0)} ms, ${median(peaks[0]!).toFixed(0)} MB)`,
          `by the note ${cost(byNote!, peaks[1]!)}; by the lock ${cost(byLock!, peaks[2]!)}`
        ] as const
      })
  )
}

/** The testkit's fixture, with an application that takes 500 MB while it boots. */
export const memoryOfLosers = async (root: string, bundle: string): Promise<string> => {
  const state = path.join(root, "fixture")
  fs.mkdirSync(state, { mode: 0o700 })
  fs.writeFileSync(path.join(state, "knobs.json"), JSON.stringify({ memoryMb: 500 }))
  const spec = { ...fixture, directory: state }
  const { env } = launchOf(spec, paths(spec))
  const args = [path.join(bundle, "fixture", "fixture.mjs")]
  return owned(state, args, env, () => {
    const owner = JSON.parse(fs.readFileSync(path.join(state, "service.owner.json"), "utf8")) as {
      readonly pid: number
    }
    const peakOf = (status: string) => Number(/^VmHWM:\s+(\d+)/m.exec(status)![1]) / 1024
    let theirs = 0
    while (theirs < 500) theirs = peakOf(fs.readFileSync(`/proc/${owner.pid}/status`, "utf8"))
    const loser = spawnSync(process.execPath, ["--require", file("./losing/peak.cjs"), ...args], {
      cwd: state,
      env,
      encoding: "utf8"
    })
    if (loser.status !== 0) throw new Error(loser.stderr)
    const ours = Number(/peak (\d+)/.exec(loser.stdout)![1]) / 1024
    return `${ours.toFixed(0)} MB of ${theirs.toFixed(0)} MB: ${((100 * ours) / theirs).toFixed(1)} %`
  })
}
