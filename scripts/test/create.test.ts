import { assert, describe, it } from "vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const root = path.join(import.meta.dirname, "../..")

const within = (test: (folder: string) => void) => () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "create-"))
  try {
    test(folder)
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

const create = (cwd: string, ...args: ReadonlyArray<string>) => {
  const ran = spawnSync(process.execPath, [path.join(root, "create/main.mjs"), ...args], { cwd, encoding: "utf8" })
  return { status: ran.status, stdout: ran.stdout, stderr: ran.stderr }
}

const filesOf = (folder: string): ReadonlyArray<string> =>
  fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .sort()

const read = (...parts: ReadonlyArray<string>) => fs.readFileSync(path.join(...parts), "utf8")

const made = [
  ".gitignore",
  "README.md",
  "package.json",
  "src/application.ts",
  "src/cli.ts",
  "src/client.ts",
  "src/daemon.ts",
  "src/service.ts",
  "test/service.test.ts",
  "tsconfig.json"
]

describe("npm create holdfast", () => {
  it(
    "makes a service, a client and a test in a folder of that name, and says what comes next",
    within((folder) => {
      const ran = create(folder, "clock-2")
      assert.deepStrictEqual([ran.status, ran.stderr], [0, ""])
      assert.include(ran.stdout, "  cd clock-2\n  npm install\n  npm test\n  npm start\n")
      assert.deepStrictEqual(filesOf(path.join(folder, "clock-2")), made)
      assert.include(read(folder, "clock-2/src/service.ts"), `app: "clock-2"`)
    })
  )

  it(
    "takes an empty folder that is there, and the one it is called in",
    within((folder) => {
      const empty = path.join(folder, "clock")
      fs.mkdirSync(empty)
      const ran = create(empty, ".")
      assert.deepStrictEqual([ran.status, ran.stderr], [0, ""])
      assert.notInclude(ran.stdout, "cd ")
      assert.deepStrictEqual(filesOf(empty), made)
    })
  )

  it(
    "leaves no trace of the template's own name and version",
    within((folder) => {
      create(folder, "clock")
      for (const file of made) assert.notMatch(read(folder, "clock", file), /my-service|0\.0\.0-holdfast/, file)
      const { version } = JSON.parse(read(root, "create/package.json"))
      const { dependencies } = JSON.parse(read(folder, "clock/package.json"))
      assert.strictEqual(dependencies["@holdfast/client"], version)
    })
  )

  it("shows what the README shows, under a name that fits every service", () => {
    for (const file of ["application", "cli", "client", "daemon", "service"]) {
      const shown = read(root, "examples/minimal/src", `${file}.ts`)
      const expected = shown
        .replaceAll(/\bhello( \} from| =|\)|,|\.version)/g, "spec$1")
        .replace(/(app: |Command\.make\()"hello"/, '$1"my-service"')
      assert.strictEqual(read(root, "create/template/src", `${file}.ts`), expected, file)
    }
  })
})

describe("npm create holdfast refuses with one line, and changes nothing:", () => {
  const before = ["notes.txt", "taken/notes.txt"]
  const refused: ReadonlyArray<readonly [string, ReadonlyArray<string>, number, RegExp]> = [
    ["no name", [], 64, /^Use: npm create holdfast <folder>\n$/],
    ["two names", ["one", "two"], 64, /^Use: npm create holdfast <folder>\n$/],
    ["an option", ["--force"], 64, /^Use: npm create holdfast <folder>\n$/],
    ["capital letters", ["Clock"], 64, /^"Clock" is no name for a service\. Use 1 to 32 of: .+\n$/],
    ["a name of 33 letters", ["a".repeat(33)], 64, /is no name for a service/],
    ["a scope", ["@me/my_clock"], 64, /^"my_clock" is no name/],
    ["the root", ["/"], 64, /^"" is no name/],
    ["a folder that is not empty", ["taken"], 73, /taken is not empty\. Use another name, or empty it first\.\n$/],
    [
      "a folder in a file",
      ["notes.txt/clock"],
      73,
      /clock could not be written \(E[A-Z]+\)\. Use a folder of your own\.\n$/
    ],
    ["a name that a file has", ["clock"], 73, /clock is there, and is no folder\. Use another name\.\n$/]
  ]
  for (const [name, args, status, line] of refused) {
    it(
      `${name}`,
      within((folder) => {
        fs.mkdirSync(path.join(folder, "taken"))
        const files = name === "a name that a file has" ? [...before, "clock"].sort() : before
        for (const file of files) fs.writeFileSync(path.join(folder, file), "mine")
        const ran = create(folder, ...args)
        assert.deepStrictEqual([ran.status, ran.stdout], [status, ""])
        assert.match(ran.stderr, line)
        assert.strictEqual(ran.stderr.trimEnd().split("\n").length, 1)
        assert.deepStrictEqual(filesOf(folder), files)
      })
    )
  }
})
