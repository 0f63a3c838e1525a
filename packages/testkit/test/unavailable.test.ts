import { assert, describe, it } from "@effect/vitest"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { boots, isReady, withKit } from "./withKit.ts"

/** Whether root can be kept from writing here: its mode bits do not. */
const mayFreezeDirectories = (() => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-immutable-"))
  try {
    return spawnSync("chattr", ["+i", directory], { stdio: "ignore" }).status === 0
  } finally {
    spawnSync("chattr", ["-i", directory], { stdio: "ignore" })
    fs.rmdirSync(directory)
  }
})()

interface Cause {
  readonly what: string
  readonly says: RegExp
  readonly possible?: boolean
  /** Does it, and answers what undoes it. */
  readonly harm: (kit: Testkit["Service"]) => () => void
}

const rewritten = (kit: Testkit["Service"], harm: (file: string) => void): (() => void) => {
  const good = fs.readFileSync(kit.paths.lease)
  harm(kit.paths.lease)
  return () => fs.writeFileSync(kit.paths.lease, good)
}

const causes: ReadonlyArray<Cause> = [
  {
    what: "locked by another program",
    says: /busy|locked/i,
    harm: (kit) => {
      const other = new DatabaseSync(kit.paths.lease)
      other.exec("BEGIN EXCLUSIVE")
      return () => other.close()
    }
  },
  {
    what: "damaged",
    says: /damaged|corrupt/i,
    harm: (kit) => rewritten(kit, (file) => fs.writeFileSync(file, "garbage".repeat(2000)))
  },
  {
    what: "replaced by one of a newer version",
    says: /newer/i,
    harm: (kit) =>
      rewritten(kit, (file) => {
        fs.rmSync(file)
        const newer = new DatabaseSync(file)
        newer.exec("PRAGMA user_version = 99")
        newer.close()
      })
  },
  {
    what: "in a directory that cannot be written any more",
    says: /written|denied|permission|read-only/i,
    possible: mayFreezeDirectories,
    harm: (kit) => {
      execFileSync("chattr", ["+i", kit.paths.directory])
      return () => void execFileSync("chattr", ["-i", kit.paths.directory])
    }
  }
]

const heartbeatOf = (kit: Testkit["Service"]): number => {
  const database = new DatabaseSync(kit.paths.lease, { readOnly: true, timeout: 2000 })
  try {
    const { holder } = database.prepare("SELECT holder FROM lease").get() as { readonly holder: string }
    return (JSON.parse(holder) as { readonly heartbeatAt: number }).heartbeatAt
  } finally {
    database.close()
  }
}

describe.concurrent("a running owner whose lease database is", () => {
  for (const { harm, possible = true, says, what } of causes) {
    it.live.skipIf(!possible)(
      `${what}${possible ? "" : " (needs chattr)"} says so, keeps serving, and renews again when the cause is gone`,
      () =>
        withKit({}, (kit) =>
          Effect.gen(function* () {
            yield* kit.client.launch()
            const owner = yield* kit.owner
            const heal = yield* Effect.acquireRelease(
              Effect.sync(() => {
                const undo = harm(kit)
                let done = false
                return () => {
                  if (!done) undo()
                  done = true
                }
              }),
              (undo) => Effect.sync(undo)
            )
            yield* kit.eventually(
              "the log says that the lease cannot be renewed, and why",
              () =>
                fs
                  .readFileSync(kit.paths.log, "utf8")
                  .split("\n")
                  .filter((line) => line.includes("cannot be renewed now")),
              (lines) => lines.some((line) => says.test(line)),
              { within: "20 seconds" }
            )
            assert.strictEqual((yield* isReady(kit)).registration?.pid, owner.pid)
            heal()
            const healedAt = Date.now()
            yield* kit.eventually(
              "the lease is renewed",
              () => heartbeatOf(kit),
              (at) => at >= healedAt,
              {
                within: "20 seconds"
              }
            )
            assert.strictEqual((yield* isReady(kit)).registration?.pid, owner.pid)
            assert.deepStrictEqual(boots(kit), [owner.pid])
          })
        ),
      60_000
    )
  }
})
