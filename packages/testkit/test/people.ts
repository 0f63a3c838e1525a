/** Users of a test, and what they own. */
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"

/** Two users that are not in the password database. */
export const [one, two] = [12345, 12346] as const

/** Every file below a directory, itself too. */
export const below = (directory: string): ReadonlyArray<string> => [
  directory,
  ...fs.readdirSync(directory, { recursive: true, encoding: "utf8" }).map((name) => path.join(directory, name))
]

/** Places that a test's users own, below the state directory, where what is left is ended when the test is over. */
export const places = (kit: Testkit["Service"], ...users: ReadonlyArray<number>): ReadonlyArray<string> => {
  const { directory } = kit.paths
  fs.chmodSync(path.dirname(directory), 0o755)
  fs.chmodSync(directory, 0o711)
  return users.map((uid) => {
    const place = path.join(directory, `of-${uid}`)
    fs.mkdirSync(place, { mode: 0o700 })
    fs.chownSync(place, uid, uid)
    return place
  })
}

/** Ends a service of this test, and waits until nothing of it runs; cheaper than a client. */
export const end = (kit: Testkit["Service"], ...pids: ReadonlyArray<number>) =>
  Effect.suspend(() => {
    for (const pid of pids) process.kill(pid, "SIGTERM")
    return kit.eventually("nothing runs", kit.processes, (left) => left.length === 0)
  })
