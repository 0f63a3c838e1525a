import * as laws from "@holdfast/testkit/laws"
import { assert, describe, it } from "vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { modulesOf } from "../../../scripts/documents.ts"
import { programOf } from "../../../scripts/programs.ts"
import { hello } from "../src/service.ts"

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))

const codeLines = (names: ReadonlyArray<string>) =>
  names
    .map(
      (name) =>
        fs
          .readFileSync(here(`../src/${name}`), "utf8")
          .trim()
          .split("\n").length
    )
    .reduce((sum, lines) => sum + lines, 0)

describe("the README", () => {
  it("shows the minimal example as it is", () => {
    const shown = modulesOf(fs.readFileSync(here("../../../README.md"), "utf8"))
    assert.deepStrictEqual([...shown.keys()].sort(), [
      "application.ts",
      "cli.ts",
      "client.ts",
      "daemon.ts",
      "main.ts",
      "service.ts"
    ])
    for (const [name, text] of shown) assert.strictEqual(text, fs.readFileSync(here(`../src/${name}`), "utf8"), name)
  })

  it("needs 15 lines for a service and 15 for a client", () => {
    assert.isAtMost(codeLines(["service.ts", "daemon.ts", "application.ts"]), 15)
    assert.isAtMost(codeLines(["client.ts"]), 15)
  })

  it("has a client that starts the service and is answered, and one that attaches", () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), "hello-"))
    const run = (file: string, ...args: ReadonlyArray<string>) =>
      spawnSync(process.execPath, [here(`../src/${file}`), ...args], {
        env: {
          PATH: process.env["PATH"],
          NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
          HELLO_STATE_DIR: directory
        },
        encoding: "utf8"
      })
    try {
      for (const _ of ["starts", "attaches"])
        assert.deepInclude(run("client.ts"), { status: 0, stdout: "hello\n", stderr: "" })
      assert.deepInclude(run("main.ts"), { status: 0, stdout: "hello\n", stderr: "" })
      assert.match(run("main.ts", "service", "status", "--json").stdout, /"type":"ready"/)
      assert.match(run("cli.ts", "service", "status").stdout, /^hello v1\.0\.0 is ready \(PID \d+\)\.\n$/)
    } finally {
      assert.strictEqual(run("cli.ts", "service", "stop").stdout, "hello stopped.\n")
      fs.rmSync(directory, { recursive: true })
    }
  })
})

describe.concurrent("side by side", () => {
  laws.suite({ ...hello, environment: ["NODE_COMPILE_CACHE"], entry: pathToFileURL(programOf("minimal-daemon")) })
})
