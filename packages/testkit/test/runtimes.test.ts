import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { fileURLToPath } from "node:url"
import { runtimes } from "./runtimes.ts"
import { boots, isReady, withKit } from "./withKit.ts"

const printPaths = fileURLToPath(new URL("./fixture/paths.ts", import.meta.url))

const directoryUnder = (runtime: string, home: Record<string, string>): string => {
  const { PATH } = process.env
  const run = spawnSync(runtime, [printPaths], { env: { PATH, ...home }, encoding: "utf8" })
  assert.strictEqual(run.status, 0, run.stderr)
  return run.stdout.trim()
}

describe.concurrent("runtimes", () => {
  for (const owner of runtimes) {
    for (const contender of runtimes) {
      if (owner === contender) continue
      const missing = [owner, contender].filter(({ path }) => path === undefined).map(({ name }) => name)
      const reason = missing.length > 0 ? ` (${missing.join(", ")} is not installed: npm run runtimes)` : ""
      it.live.skipIf(reason !== "")(
        `an owner under ${owner.name} refuses a contender under ${contender.name}${reason}`,
        () =>
          withKit({}, (kit) =>
            Effect.gen(function* () {
              const [first] = yield* kit.swarm(1, { runtime: owner.path! })
              const before = yield* isReady(kit)
              assert.strictEqual(before.registration?.pid, first!.pid)
              const [second] = yield* kit.swarm(1, { runtime: contender.path! })
              assert.deepStrictEqual(yield* second!.exited, { code: 0 })
              // without the note it is the kernel's lock alone that refuses
              const note = fs.readFileSync(kit.paths.owner, "utf8")
              fs.rmSync(kit.paths.owner)
              const [third] = yield* kit.swarm(1, { runtime: contender.path! })
              assert.deepStrictEqual(yield* third!.exited, { code: 0 })
              fs.writeFileSync(kit.paths.owner, note)
              assert.deepStrictEqual(yield* kit.client.state, before)
              assert.deepStrictEqual(boots(kit), [first!.pid])
            })
          )
      )
    }
  }
})

describe("runtimes", () => {
  for (const { name, path } of runtimes) {
    const reason = path === undefined ? ` (${name} is not installed: npm run runtimes)` : ""
    it.skipIf(reason !== "")(`${name} computes the same directory with HOME set, unset and foreign${reason}`, () => {
      const expected = directoryUnder(process.execPath, { HOME: process.env["HOME"] ?? "/" })
      for (const home of [{ HOME: process.env["HOME"] ?? "/" }, {}, { HOME: "/somebody/else" }] as ReadonlyArray<
        Record<string, string>
      >) {
        assert.strictEqual(directoryUnder(path!, home), expected, JSON.stringify(home))
      }
    })
  }
})
