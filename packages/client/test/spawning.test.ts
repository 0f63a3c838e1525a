import { assert, describe, it } from "@effect/vitest"
import * as identity from "@holdfast/lock/identity"
import { paths as pathsOf } from "@holdfast/lock/ServicePaths"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { type Budget, empty, started } from "../src/internal/budget.ts"
import { takeAnyway } from "../src/internal/spawnLock.ts"
import { spawn } from "../src/internal/spawning.ts"
import { spec, temporary, until } from "./support.ts"

const place = Effect.map(temporary, (directory) => {
  const paths = pathsOf({ app: "hello", directory })
  fs.writeFileSync(paths.budget, "", { mode: 0o600 }) // as whoever has the lock has made it
  return paths
})

describe("a client that does without the spawn lock", () => {
  it.live("is known to the others as the one that gets on with it before its contender runs", () =>
    Effect.gen(function* () {
      const paths = yield* place
      const copied = `${paths.directory}/copied`
      const entry = { command: "/bin/sh", args: ["-c", `cp ${paths.budget} ${copied}.tmp; mv ${copied}.tmp ${copied}`] }
      const spawned = yield* Effect.promise(() => spawn({ ...spec, entry }, paths, { anyway: true, asked: false }))
      assert.strictEqual(spawned._tag, "Started")
      yield* until("the contender has copied the record", () => fs.existsSync(copied))
      const { starter } = JSON.parse(fs.readFileSync(copied, "utf8")) as Budget
      assert.isDefined(starter)
    })
  )

  it.live("waits for another that is at it, and not for one of its own that came to nothing", () =>
    Effect.gen(function* () {
      const paths = yield* place
      const by = (pid: number) => {
        const starter = identity.ofPid(pid)!
        fs.writeFileSync(paths.budget, JSON.stringify({ ...started(empty(identity.boot()), Date.now(), 1), starter }))
        return takeAnyway(paths)._tag
      }
      assert.strictEqual(by(process.ppid), "Taken")
      assert.strictEqual(by(process.pid), "Ours")
    })
  )
})
