import { assert, describe, it } from "@effect/vitest"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import { service } from "./commandLine.ts"
import { boots, isReady, withKit } from "./withKit.ts"
import { environmentOf } from "./elsewhere.ts"
import { programOf } from "./fixture/programs.ts"

type Kit = Testkit["Service"]

/** What the program said, how it ended, and how long it took. */
const program = (kit: Kit, then: "client" | "nothing", directory = kit.paths.directory) =>
  Effect.promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>(
    () =>
      new Promise((resolve) => {
        const args = ["--conditions", "development", programOf("beginning"), directory, then]
        const env = environmentOf({ env: { ENTRY: programOf("flaky") } })
        const child = childProcess.execFile(process.execPath, args, { env, timeout: 20_000 }, (_, stdout, stderr) =>
          resolve({ code: child.exitCode, stdout, stderr })
        )
      })
  )

const counted = (kit: Kit, failures = 0) => fs.writeFileSync(`${kit.paths.directory}/failures`, `${failures}`)
const starts = (kit: Kit) =>
  fs.existsSync(`${kit.paths.directory}/starts`)
    ? fs.readFileSync(`${kit.paths.directory}/starts`, "utf8").trim().split("\n")
    : []

describe.concurrent("a program that begins its service first", () => {
  it.live("starts one contender, and its client goes on with that one", () =>
    withKit({ bootMs: 500 }, (kit) =>
      Effect.gen(function* () {
        counted(kit)
        const { code, stdout } = yield* program(kit, "client")
        assert.strictEqual(code, 0)
        assert.deepStrictEqual([JSON.parse(stdout).pid], starts(kit).map(Number))
      })
    )
  )

  it.live("starts nothing where an owner lives", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        counted(kit)
        const { pid } = yield* kit.client.launch()
        assert.strictEqual(JSON.parse((yield* program(kit, "client")).stdout).pid, pid)
        assert.isEmpty(starts(kit))
      })
    )
  )

  it.live("and does nothing else, ends at once; the service is there for the next", () =>
    withKit({ bootMs: 2000 }, (kit) =>
      Effect.gen(function* () {
        counted(kit)
        assert.deepStrictEqual(yield* program(kit, "nothing"), { code: 0, stdout: "", stderr: "" })
        assert.isEmpty(boots(kit)) // it did not wait for it
        const { health } = yield* isReady(kit)
        assert.deepStrictEqual([health?.pid], starts(kit).map(Number))
      })
    )
  )

  it.live("learns from its client what was wrong, when the first start ends at once", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        counted(kit, 100)
        const { code, stdout } = yield* program(kit, "client")
        assert.strictEqual(code, 0)
        assert.include(JSON.parse(stdout).error, "the disk said no (start 1)")
        assert.lengthOf(starts(kit), 3)
      })
    )
  )

  it.live("learns from its client that the directory is of no use, and has changed nothing", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const file = `${kit.paths.directory}/file`
        fs.writeFileSync(file, "mine")
        const { code, stderr, stdout } = yield* program(kit, "client", file)
        assert.deepStrictEqual([code, stderr], [0, ""])
        assert.include(JSON.parse(stdout).error, file)
        assert.strictEqual(fs.readFileSync(file, "utf8"), "mine")
      })
    )
  )
})

describe("the quick answer", () => {
  it.live("is given to `service status --json` alone, and leaves what is unusual to the command line", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const file = `${kit.paths.directory}/file`
        fs.writeFileSync(file, "")
        const { directory } = kit.paths
        const codes = yield* Effect.forEach(
          [
            [directory, ["status", "--json"]],
            [directory, ["status"]],
            [directory, ["status", "--json", "--help"]],
            [directory, []],
            [file, ["status", "--json"]]
          ] as const,
          ([place, args]) => Effect.map(service(place, args, { quick: true }), ({ code }) => code)
        )
        assert.deepStrictEqual(codes, [3, 99, 99, 99, 99])
      })
    )
  )
})
