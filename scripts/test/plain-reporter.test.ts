import { assert, describe, it } from "vitest"
import { spawnSync } from "node:child_process"
import * as path from "node:path"

const root = path.join(import.meta.dirname, "../..")

/** The lines at the end of a run of the fixture. */
const ended = (...args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const options = ["--config", "scripts/test/fixture/vitest.config.ts", "--reporter", "./vitest.plain-reporter.ts"]
  const ran = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...options, ...args], {
    cwd: root,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], NO_COLOR: "1" }
  })
  assert.strictEqual(ran.status, 0, `${ran.stdout}${ran.stderr}`)
  return ran.stdout.trim().split("\n")
}

describe("the end of a test run", () => {
  it("says for each reason how many tests were skipped, and then how many passed, failed and were skipped", () => {
    assert.deepStrictEqual(ended(), [
      "2 skipped: needs Linux",
      "1 skipped: needs chattr",
      "2 skipped: needs root",
      "1 skipped: no network here",
      "1 skipped: no reason given",
      "1 skipped: node 22 is not installed: npm run runtimes",
      "1 passed, 0 failed, 8 skipped"
    ])
  })

  it("does not take what -t leaves out for what the machine cannot do", () => {
    assert.deepStrictEqual(ended("-t", "thing"), [
      "2 skipped: needs root",
      "7 skipped: not asked for by -t",
      "0 passed, 0 failed, 9 skipped"
    ])
  })
})
