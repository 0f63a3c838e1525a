import { assert, describe, it } from "vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { commandsIn, modulesIn } from "../markdown.ts"

const root = path.join(import.meta.dirname, "../..")

/** Commands that cannot be run from a test, each with where they run instead. */
const elsewhere: Readonly<Record<string, string>> = {
  "npm test": "this is it",
  ".ci/run": "it runs the tests, and so this",
  "npm run build && npm run package-check": ".ci/run",
  "npm run install-check": ".ci/run",
  "npm run format": "it changes files; .ci/run runs format:check",
  "npm run lint": ".ci/run",
  "npm run check": ".ci/run",
  "npm run runtimes": ".ci/run"
}

describe("the guide to bundling", () => {
  it("shows the command line of the minimal example", () => {
    const guide = modulesIn(fs.readFileSync(path.join(root, "docs/bundling.md"), "utf8"))
    const example = fs.readFileSync(path.join(root, "examples/minimal/src/cli.ts"), "utf8")
    assert.strictEqual(guide.find(({ name }) => name === "cli.ts")?.text, example)
  })
})

describe("every command in the documentation runs", () => {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), "documentation-"))
  const run = (command: string) =>
    spawnSync("sh", ["-c", command], {
      cwd: root,
      env: { ...process.env, CI: "true", CODESEARCH_STATE_DIR: state },
      stdio: ["ignore", "pipe", "pipe"],
      encoding: "utf8"
    })
  const commands = ["README.md", "CONTRIBUTING.md", "docs/files.md", "docs/exit-codes.md"].flatMap((file) =>
    commandsIn(fs.readFileSync(path.join(root, file), "utf8"))
  )

  for (const command of new Set(commands)) {
    if (command in elsewhere || /^npm (init|install|create) /.test(command)) continue // those: scripts/install-check.ts
    // a command that starts vitest in vitest: it is enough that the file or project it names is there
    const named = /^npm test -- (?:--project )?(\S+)/.exec(command)?.[1]
    it(`runs: ${command}`, () => {
      if (named !== undefined) {
        const exists = [named, `packages/${named}`].some((file) => fs.existsSync(path.join(root, file)))
        assert.isTrue(exists || named === "-t", `${named} is not there`)
        return
      }
      const ran = run(command)
      assert.strictEqual(ran.status, 0, `${ran.stdout}\n${ran.stderr}`)
    }, 60_000)
  }

  it("and what they started is stopped", () => {
    const ran = run("npm start --silent -- service stop")
    assert.match(ran.stdout, /CodeSearch (stopped|is not running)\./)
    fs.rmSync(state, { recursive: true, force: true })
  })
})
