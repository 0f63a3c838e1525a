/**
 * The examples in the docstrings, checked as their readers would use them: all are compiled, in one run of the compiler,
 * and then each is imported, all in one process. `npm run examples` does it, and scripts/test/examples.test.ts.
 *
 * What a `console.log` at the top of an example prints is what the `// =>` after it says. An example that would start
 * something is written so that it only exports. Those that define tests of vitest are compiled and not imported: a test
 * runner can only be imported by itself, and the laws take minutes.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { compiler } from "./compiler.ts"
import { packages, readDocstrings, sourcesIn } from "./docstrings.ts"
import type { Outcome } from "./run-examples.ts"

export interface Example {
  readonly file: string
  /** Of its first line of code in that file. */
  readonly line: number
  /** The export that it is about. */
  readonly of: string
  readonly text: string
}

export const examplesIn = (sources: ReadonlyMap<string, string>): ReadonlyArray<Example> =>
  [...sources].flatMap(([file, text]) =>
    readDocstrings(file, text).docstrings.flatMap((docstring) =>
      [...docstring.text.matchAll(/^```ts\n([^]*?)^```$/gm)].map((match) => ({
        file,
        of: docstring.of,
        // a docstring of more than one line begins on the line after its stars
        line: docstring.line + docstring.text.slice(0, match.index).split("\n").length + 1,
        text: match[1]!
      }))
    )
  )

const definesTests = ({ text }: Example): boolean => /"(@effect\/)?vitest"|"@holdfast\/testkit\/laws"/.test(text)

/** What stands beside an example, for those that name another module of the application. */
const neighbours: Readonly<Record<string, string>> = {
  "daemon.ts": `export {}\n`,
  "main.ts": `export {}\n`,
  "application.ts": `import * as Application from "@holdfast/lifecycle/Application"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
export default Application.make(HttpRouter.add("GET", "/hello", HttpServerResponse.text("hello")))
`
}

const settings = {
  extends: "../../tsconfig.base.json",
  include: ["*.ts"],
  compilerOptions: {
    rootDir: "../..",
    noEmit: true,
    composite: false,
    incremental: false,
    rewriteRelativeImportExtensions: false,
    allowImportingTsExtensions: true
  }
}

/** A project of its own, with a module for each example; answers them by the name of their module. */
const write = (project: string, root: string, examples: ReadonlyArray<Example>): ReadonlyMap<string, Example> => {
  fs.rmSync(project, { recursive: true, force: true })
  const scope = path.join(project, "node_modules/@holdfast")
  fs.mkdirSync(scope, { recursive: true })
  for (const name of packages) fs.symlinkSync(path.join(root, "packages", name), path.join(scope, name), "junction")
  for (const [name, text] of Object.entries(neighbours)) fs.writeFileSync(path.join(project, name), text)
  fs.writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify(settings))
  fs.writeFileSync(path.join(project, "package.json"), `{ "type": "module" }`)
  return new Map(
    examples.map((example, index) => {
      const name = `${index}.${example.file.replace(/^packages\//, "").replaceAll("/", ".")}`
      fs.writeFileSync(path.join(project, name), example.text)
      return [name, example]
    })
  )
}

const compile = (project: string): ReadonlyArray<Outcome> => {
  const ran = spawnSync(compiler(), ["-p", project, "--pretty", "false"], { cwd: project, encoding: "utf8" })
  const found = [...ran.stdout.matchAll(/^(\S+?)\((\d+),\d+\): error (.*(?:\n .*)*)/gm)].map(
    ([, module, line, message]) => ({
      module: module!,
      line: Number(line),
      message: message!
    })
  )
  if (ran.status !== 0 && found.length === 0) throw new Error(`the compiler failed: ${ran.stdout}${ran.stderr}`)
  return found
}

/** In a directory of its own, so that nothing is left should an example write something after all. */
const run = (project: string, modules: ReadonlyArray<string>): ReadonlyArray<Outcome> => {
  const place = path.join(project, "place")
  fs.mkdirSync(place)
  const ran = spawnSync(process.execPath, [path.join(import.meta.dirname, "run-examples.ts"), project, ...modules], {
    cwd: place,
    env: { ...process.env, HELLO_STATE_DIR: place, TMPDIR: place, NODE_OPTIONS: "" },
    encoding: "utf8",
    timeout: 60_000
  })
  const outcomes = ran.stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line): Outcome => JSON.parse(line) as Outcome)
  const imported = new Set(outcomes.map(({ module }) => module))
  const left = modules.find((module) => !imported.has(module))
  const why = ran.error?.message ?? ran.stderr.trim()
  if (left !== undefined) return [...outcomes, { module: left, message: `it ended the process: ${why}` }]
  if (ran.status !== 0) return [...outcomes, { module: "", message: `the process did not end by itself: ${why}` }]
  return outcomes
}

/** What is wrong with these examples: one line for each, by file, line and export. */
export const failuresOf = (
  root: string,
  examples: ReadonlyArray<Example>,
  place: "dist/examples" | "dist/examples-broken" = "dist/examples"
): ReadonlyArray<string> => {
  const project = path.join(root, place)
  const modules = write(project, root, examples)
  const compiled = compile(project)
  const wrong = new Set(compiled.map(({ module }) => module))
  const imported = [...modules].filter(([name, example]) => !wrong.has(name) && !definesTests(example))
  const ran = run(
    project,
    imported.map(([name]) => name)
  )
  return [...compiled, ...ran]
    .filter(({ message }) => message !== undefined)
    .map(({ line, message, module }) => {
      const example = modules.get(module)
      if (example === undefined) return `${module}: ${message}`
      return `${example.file}:${example.line + (line ?? 1) - 1} ${example.of}: ${message}`
    })
}

if (process.argv[1] === import.meta.filename) {
  const root = path.join(import.meta.dirname, "..")
  const examples = examplesIn(sourcesIn(root))
  const failures = failuresOf(root, examples)
  for (const failure of failures) process.stderr.write(`${failure}\n`)
  if (failures.length === 0)
    process.stdout.write(
      `examples: ${examples.length} compile, and run but for ${examples.filter(definesTests).length} of tests\n`
    )
  process.exitCode = failures.length === 0 ? 0 : 1
}
