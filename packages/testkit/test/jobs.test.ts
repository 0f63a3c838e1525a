import { assert, describe, it } from "@effect/vitest"
import { define } from "@holdfast/lifecycle/ServiceSpec"
import { parseRegistration } from "@holdfast/lifecycle/StartupOutcome"
import * as files from "@holdfast/lock/files"
import { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, type Scope } from "effect"
import { pathToFileURL } from "node:url"
import * as fs from "node:fs"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { programOf } from "./fixture/programs.ts"

const spec = define({
  app: "jobs",
  version: "1.0.0",
  entry: pathToFileURL(programOf("jobsDaemon"))
})
const withJobs = (test: (kit: Testkit["Service"]) => Effect.Effect<void, unknown, Scope.Scope>) =>
  Testkit.use(test).pipe(Effect.scoped, Effect.provide(Testkit.layer(spec)))

/** Also when the machine is busy with contenders, and the first owner dies on the way. */
const isReady = (kit: Testkit["Service"]) =>
  kit.waitFor("it is ready", (state) => state.status.type === "ready", { within: "30 seconds" })

const rows = (kit: Testkit["Service"], sql: string): ReadonlyArray<any> => {
  const database = new DatabaseSync(path.join(kit.paths.directory, "jobs.db"), { timeout: 5000 })
  try {
    return database
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }))
  } finally {
    database.close()
  }
}
const post = (kit: Testkit["Service"]) => Effect.flatMap(kit.client.http.post("/jobs"), (response) => response.text)

const registeredIn = (kit: Testkit["Service"]): number | undefined => {
  const reading = files.read(kit.paths.registration)
  return reading._tag === "Text" ? parseRegistration(reading.text)?.pid : undefined
}

/** When the KILL comes. */
const moments: ReadonlyArray<[string, (kit: Testkit["Service"], pid: number) => boolean]> = [
  ["at once", () => true],
  ["it has begun to stop", (kit) => / stopping$/m.test(fs.readFileSync(kit.paths.log, "utf8"))],
  // the next one's may be there already
  ["its registration is removed", (kit, pid) => registeredIn(kit) !== pid]
]

describe.concurrent("work across a change of owner", () => {
  it.live(
    "after a crash, once one of several contenders is ready: no row of a dead epoch is running, and each epoch put right what was left once, also when it crashes in the middle of that",
    () =>
      withJobs((kit) =>
        Effect.gen(function* () {
          const epochs: Array<number> = []
          for (const death of [undefined, "die-in-recovery", "die-after-recovery"]) {
            if (death !== undefined) fs.writeFileSync(path.join(kit.paths.directory, death), "")
            const members = yield* kit.swarm(death === undefined ? 10 : 3)
            const { registration } = yield* isReady(kit)
            const texts = yield* Effect.all([post(kit), post(kit), post(kit)])
            const epoch = Number(texts[0])
            epochs.push(epoch)
            // once ready there is nothing left of others, and all that is recorded was one owner's each
            assert.deepStrictEqual(rows(kit, "SELECT DISTINCT epoch FROM jobs WHERE state = 'running'"), [{ epoch }])
            assert.deepStrictEqual(rows(kit, "SELECT epoch FROM recoveries GROUP BY epoch HAVING count(*) > 1"), [])
            assert.lengthOf(rows(kit, `SELECT * FROM recoveries WHERE epoch = ${epoch}`), 1)
            const owner = yield* kit.owner
            assert.strictEqual(owner.pid, registration!.pid)
            yield* owner.kill
            yield* Effect.forEach(members, (member) => member.exited)
          }
          yield* kit.swarm(1)
          yield* isReady(kit)
          assert.isTrue(epochs[0]! < epochs[1]! && epochs[1]! < epochs[2]!, epochs.join(" "))
          assert.deepStrictEqual(rows(kit, "SELECT state, count(*) AS n FROM jobs GROUP BY state"), [
            { state: "interrupted", n: 9 }
          ])
          assert.deepStrictEqual(rows(kit, "SELECT sum(interrupted) AS n FROM recoveries"), [{ n: 9 }])
        })
      ),
    60_000
  )

  it.live(
    "when the session ends, TERM and then KILL for the whole group in the middle of writing: each write is whole or absent, and the next call is served at once",
    () =>
      withJobs((kit) =>
        Effect.gen(function* () {
          yield* Effect.forEach(moments, ([sentence, come]) =>
            Effect.gen(function* () {
              const { pid } = yield* kit.client.ensure()
              const before = rows(kit, "SELECT count(*) AS n FROM jobs")[0].n as number
              yield* Effect.ignore(post(kit)).pipe(
                Effect.repeat({ times: 10_000 }),
                Effect.replicateEffect(3, { concurrency: 3 }),
                Effect.forkScoped
              )
              yield* kit.eventually(
                "it is writing",
                () => rows(kit, "SELECT count(*) AS n FROM jobs")[0].n as number,
                (n) => n > before + 10
              )
              const owner = yield* kit.owner
              assert.strictEqual(owner.pid, pid)
              process.kill(-pid, "SIGTERM")
              yield* kit.eventually(
                sentence,
                () => come(kit, pid),
                (is) => is
              )
              yield* Effect.sync(() => process.kill(-pid, "SIGKILL")).pipe(Effect.catchDefect(() => Effect.void))
              yield* owner.exited
              const started = performance.now()
              assert.notStrictEqual((yield* kit.client.ensure()).pid, pid)
              assert.isBelow(performance.now() - started, 10_000)
              const halves =
                "SELECT * FROM jobs LEFT JOIN steps ON steps.job = jobs.id GROUP BY jobs.id HAVING count(job) <> 2"
              assert.deepStrictEqual(rows(kit, halves), [])
            }).pipe(Effect.scoped)
          )
        })
      ),
    60_000
  )
})
