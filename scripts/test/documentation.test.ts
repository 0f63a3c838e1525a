import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { compiler } from "../compiler.ts"
import { commandsOf, documentsIn, headingsOf, linksOf, modulesOf, typescriptOf } from "../documents.ts"

const root = path.join(import.meta.dirname, "../..")
const documents = documentsIn(root)
const textOf = (file: string): string => fs.readFileSync(path.join(root, file), "utf8")

/** Commands that cannot be run from a test, each with where they run instead. */
const elsewhere: Readonly<Record<string, string>> = {
  "npm test": "this is it",
  ".ci/run": "it runs the tests, and so this",
  "npm run build && npm run package-check": ".ci/run",
  "npm run format": "it changes files; .ci/run runs format:check",
  "npm run lint": ".ci/run",
  "npm run check": ".ci/run",
  "npm run examples": "examples.test.ts",
  "npm run api": ".ci/run",
  "npm run runtimes": ".ci/run",
  "npm run install-check": ".ci/run",
  "npm run bench": "minutes, and of use only on a machine that does nothing else",
  "npm run soak -- 60 1": "an hour; packages/testkit/test/chaos.test.ts plays a short plan",
  "npm run architecture": "it changes files; architecture.test.ts runs what it does",
  "npm run picture -- ten-clients-and-a-crash": "it changes files, and needs Chromium",
  "npm start -- service run": "it runs until Ctrl-C; packages/testkit/test/people.test.ts ends it",
  "npm start -- service logs -f": "it runs until Ctrl-C; packages/testkit/test/logs.test.ts ends it"
}

/** What is installed is run as a new user would, outside of this tree: not here. */
const ofThisTree = (file: string): string =>
  file === "docs/bundling.md" ? "" : textOf(file).replace(/^## Install\n[^]*?(?=^## )/m, "")

describe("every command in the documentation runs", () => {
  let state = ""
  beforeAll(() => void (state = fs.mkdtempSync(path.join(os.tmpdir(), "documentation-"))))
  afterAll(() => fs.rmSync(state, { recursive: true, force: true }))

  const run = (command: string) => {
    const directories = {
      CODESEARCH_STATE_DIR: `${state}/codesearch`,
      HELLO_STATE_DIR: `${state}/hello`,
      HOLDFAST_TIMELINES: state
    }
    const env = { ...process.env, CI: "true", ...directories }
    return spawnSync("sh", ["-c", command], { cwd: root, env, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" })
  }
  const commands = new Set(documents.flatMap((file) => commandsOf(ofThisTree(file))))

  it("or is listed with where it runs instead, as long as a document has it", () => {
    const unused = Object.keys(elsewhere).filter((command) => !commands.has(command))
    assert.deepStrictEqual(unused, [])
  })

  for (const command of commands) {
    if (command in elsewhere) continue
    // a command that starts vitest in vitest: it is enough that what it names is there
    const named = /^npm test -- (\S+)/.exec(command)?.[1]
    it(`runs: ${command}`, () => {
      if (named !== undefined) {
        assert.isTrue(fs.existsSync(path.join(root, named)) || named === "-t", `${named} is not there`)
        return
      }
      const ran = run(command)
      assert.strictEqual(ran.status, 0, `${ran.stdout}\n${ran.stderr}`)
    }, 60_000)
  }

  it("and what they started is stopped", () => {
    const codesearch = run("npm start --silent -- service stop")
    assert.match(codesearch.stdout, /CodeSearch (stopped|is not running)\./)
    const hello = run("node examples/minimal/src/cli.ts service stop")
    assert.match(hello.stdout, /hello (stopped|is not running)\./)
  })
})

describe("the guide to a first service", () => {
  it("shows the command line of the minimal example", () => {
    const shown = modulesOf(textOf("docs/first-service.md")).get("cli.ts")
    assert.strictEqual(shown, textOf("examples/minimal/src/cli.ts"))
  })
})

describe("the TypeScript in the documentation", () => {
  const scratch = path.join(root, "node_modules/.cache/documentation")

  /** Each document is a folder, in which the README's files are, too, unless it has its own of that name. */
  const write = () => {
    fs.rmSync(scratch, { recursive: true, force: true })
    const minimal = typescriptOf(textOf("README.md"))
    for (const document of documents) {
      const own = typescriptOf(textOf(document))
      if (own.size === 0) continue
      const folder = path.join(scratch, document)
      for (const [name, text] of new Map([...minimal, ...own])) {
        fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
        fs.writeFileSync(path.join(folder, name), text)
      }
    }
    const up = "../../.."
    const ours = ["lock", "lifecycle", "client", "testkit"].map((name) => [
      `@holdfast/${name}/*`,
      [`${up}/packages/${name}/src/*.ts`]
    ])
    const compilerOptions = {
      rootDir: up,
      noEmit: true,
      composite: false,
      incremental: false,
      declaration: false,
      declarationMap: false,
      rewriteRelativeImportExtensions: false,
      allowImportingTsExtensions: true,
      noUnusedLocals: false,
      paths: {
        ...Object.fromEntries(ours),
        react: [`${up}/packages/client/node_modules/@types/react/index.d.ts`],
        "solid-js": [`${up}/packages/client/node_modules/solid-js/types/index.d.ts`]
      }
    }
    const config = { extends: `${up}/tsconfig.base.json`, include: ["**/*.ts"], compilerOptions }
    fs.writeFileSync(path.join(scratch, "tsconfig.json"), JSON.stringify(config))
    fs.writeFileSync(path.join(scratch, "package.json"), '{ "type": "module" }')
  }

  it("compiles", () => {
    write()
    const ran = spawnSync(compiler(), ["-p", scratch, "--pretty", "false"], { cwd: scratch, encoding: "utf8" })
    assert.strictEqual(`${ran.stdout}${ran.stderr}`, "")
    assert.strictEqual(ran.status, 0)
  }, 60_000)

  it("uses nothing but what the packages export", () => {
    for (const document of documents) {
      for (const [name, text] of typescriptOf(textOf(document))) {
        assert.notMatch(text, /@holdfast\/\w+\/(internal|src)\//, `${document}, ${name}`)
      }
    }
  })
})

describe("what is read of a document", () => {
  const text = [
    "# One `thing`, two",
    "```sh",
    "npm test   # all of it",
    "",
    "```",
    "```ts",
    "// a.ts",
    "export const a = 1",
    "// b.ts",
    'import { a } from "./a.ts"',
    "```",
    "[there](docs/x.md#y) and [away](https://example.com)",
    "```text",
    "# no heading",
    "```"
  ].join("\n")

  it("are its commands, its TypeScript with the lines it has, its headings, and its links into the repository", () => {
    assert.deepStrictEqual(commandsOf(text), ["npm test"])
    const [a, b] = [...typescriptOf(text)]
    assert.deepStrictEqual(a, ["a.ts", `${"\n".repeat(6)}// a.ts\nexport const a = 1\n`])
    assert.strictEqual(b?.[0], "b.ts")
    assert.strictEqual(b?.[1].split("\n").indexOf('import { a } from "./a.ts"'), 9)
    assert.deepStrictEqual(headingsOf(text), ["one-thing-two"])
    assert.deepStrictEqual(linksOf(text), [{ file: "docs/x.md", heading: "y" }])
  })
})

describe("the links in the documentation", () => {
  for (const document of documents) {
    it(`of ${document} lead to a file, and to a heading of it`, () => {
      const missing = linksOf(textOf(document)).filter(({ file, heading }) => {
        const to = path.join(root, file === "" ? document : path.join(path.dirname(document), file))
        if (!fs.existsSync(to)) return true
        return heading !== "" && !headingsOf(fs.readFileSync(to, "utf8")).includes(heading)
      })
      assert.deepStrictEqual(missing, [])
    })
  }

  it("reach every page from the README", () => {
    const linked = new Set(linksOf(textOf("README.md")).map(({ file }) => file))
    assert.deepStrictEqual(
      documents.filter((file) => file !== "README.md" && !linked.has(file)),
      []
    )
  })
})
