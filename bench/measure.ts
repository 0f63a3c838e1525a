/** Whole processes, timed in turn so that a noisy machine is as unfair to each of them. */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"

export interface Candidate {
  readonly name: string
  /** Arguments of one run; called before each, outside the timing. */
  readonly args: () => ReadonlyArray<string>
  readonly environment?: Record<string, string>
  /** This runtime by default. */
  readonly command?: string
  readonly after?: (stdout: string) => void
}

export const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

/** Milliseconds of each run of each candidate. Throws when a run fails: a failed run is no measurement. */
export const measure = (runs: number, candidates: ReadonlyArray<Candidate>): ReadonlyArray<ReadonlyArray<number>> => {
  const times = candidates.map((): Array<number> => [])
  for (let run = -1; run < runs; run++) {
    candidates.forEach((candidate, index) => {
      const args = candidate.args()
      const before = performance.now()
      const ran = spawnSync(candidate.command ?? process.execPath, [...args], {
        env: { PATH: process.env["PATH"], ...candidate.environment },
        encoding: "utf8"
      })
      const took = performance.now() - before
      if (ran.status !== 0) throw new Error(`${candidate.name} ended with ${ran.status}: ${ran.stderr}`)
      candidate.after?.(ran.stdout)
      if (run >= 0) times[index]!.push(took) // the first run only warms the caches
    })
  }
  return times
}

/** A pid of the floor's server, which nobody else ends. */
export const end = (pid: number): void => {
  if (fs.existsSync(`/proc/${pid}`)) process.kill(pid, "SIGKILL")
}
