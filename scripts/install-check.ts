/**
 * `npm run install-check` (after `npm run build`): tries the packages as a new user would, from the README alone. They are
 * packed, installed into empty projects by npm, pnpm and Bun, with and without optional dependencies, and the README's
 * service and client run there on each runtime, from TypeScript, compiled, bundled and as one executable. Then the
 * template: made, installed, tested.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { runtimes } from "../packages/testkit/test/runtimes.ts"
import { type Cell, tryOut } from "./install/cell.ts"
import { install, installByReadme, type Installer, type Packed } from "./install/project.ts"
import { lanes, run } from "./install/run.ts"
import { commandsOf, sectionOf } from "./documents.ts"
import { follow, oneExecutable, writeSources } from "./install/shipped.ts"
import { tryTemplate } from "./install/template.ts"
import { processesOf } from "./left-behind.ts"
import { packAll } from "./pack.ts"

const root = path.join(import.meta.dirname, "..")
const temporary = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "install-check-")))
const lane = lanes(2)
const problems: Array<unknown> = []
let tried = 0

const present = runtimes.filter((one): one is { name: string; path: string } => one.path !== undefined)
const bun = runtimes.find(({ name }) => name === "Bun")?.path
const node26 = runtimes.find(({ name }) => name === "Node 26")?.path
for (const { name, path } of runtimes) if (path === undefined) console.log(`without ${name}: npm run runtimes`)

const start = Date.now()
const step = async <A>(name: string, task: () => Promise<A>): Promise<A> =>
  lane(async () => {
    const began = Date.now()
    const done = await task()
    const seconds = (ms: number) => (ms / 1000).toFixed(1)
    console.log(`${seconds(Date.now() - start)} s: ${name} (${seconds(Date.now() - began)} s)`)
    return done
  })

/** Without koffi, Node before 26.9 has the program flock of the system. */
const lockOf = (runtime: string, bare: boolean): string =>
  runtime === "Bun"
    ? "bun:ffi flock(2)"
    : runtime === "Node 26"
      ? "node:ffi flock(2)"
      : bare
        ? "flock(1)"
        : "koffi flock(2)"

/** Node reads the same modules again and again. */
const environment = { NODE_COMPILE_CACHE: path.join(temporary, "compiled"), TMPDIR: temporary }

const cell = (name: string, cell: Omit<Cell, "name" | "state" | "environment">) =>
  step(name, () => tryOut({ ...cell, name, environment, state: path.join(temporary, `state-${++tried}`) }))

type Kind = "ts" | "js"

/** Bun lays packages out as npm does, and without optional dependencies only the lock differs: there, each runtime gets one kind. */
const kindsOf = (by: Installer, bare: boolean, index: number): ReadonlyArray<Kind> => {
  if (by === "npm" || (by === "pnpm" && !bare)) return ["ts", "js"]
  return [(index % 2 === 0) === (by === "bun") ? "ts" : "js"]
}

/** The sources and what was compiled from them, on each runtime. */
const matrix = (by: Installer, project: string, folder: string, bare: boolean) =>
  present.flatMap((runtime, index) =>
    kindsOf(by, bare, index).map((kind) => {
      const file = (name: string) => [runtime.path, `${kind === "ts" ? "src" : "dist"}/${name}.${kind}`]
      return cell(`${project}, ${runtime.name}, ${kind}`, {
        cwd: folder,
        client: file("client"),
        main: file("main"),
        commandLine: file("cli"),
        ...(bare || (kind === "js" && by === "npm") ? { lock: lockOf(runtime.name, bare) } : {})
      })
    })
  )

const home = path.join(temporary, "readme")

const byReadme = async (packed: Packed): Promise<void> => {
  const readme = fs.readFileSync(path.join(root, "README.md"), "utf8")
  await step("npm, by the README", () => installByReadme(home, commandsOf(sectionOf(readme, "Install")), packed))
  writeSources(home)
  await step("tsc", () => follow("Compiled JavaScript", { folder: home }))
}

const bundled = async (): Promise<void> => {
  const [, file = ""] = await step("rolldown", () => follow("A bundle with rolldown", { folder: home }))
  // beside nothing of what it was made from
  const alone = path.join(temporary, "bundle")
  fs.cpSync(path.join(home, path.dirname(file)), path.join(alone, path.dirname(file)), { recursive: true })
  fs.writeFileSync(path.join(alone, "package.json"), '{ "type": "module" }')
  await all(
    present.map((runtime) =>
      cell(`bundle, ${runtime.name}`, {
        cwd: alone,
        client: [runtime.path, file],
        main: [runtime.path, path.join(home, "dist/main.js")],
        commandLine: [runtime.path, path.join(home, "dist/cli.js")]
      })
    )
  )
}

const executables = async (): Promise<void> => {
  const folder = path.join(temporary, "executable")
  oneExecutable(folder, home)
  const ways = [
    ["An executable with Bun", bun],
    ["An executable with Node", node26]
  ] as const
  await all([
    ...ways.map(async ([heading, runtime]) => {
      if (runtime === undefined) return
      const client = await step(heading, () => follow(heading, { folder, runtime }))
      await cell(`${heading}, run`, {
        cwd: folder,
        client,
        main: client,
        commandLine: client,
        lock: lockOf(heading.includes("Bun") ? "Bun" : "Node 26", true)
      })
    }),
    ...present
      .filter(({ path }) => path === process.execPath || path === bun)
      .map(({ name, path }) => {
        const line = [path, "src/main.ts"]
        return cell(`its sources, ${name}`, { cwd: folder, client: line, main: line, commandLine: line })
      })
  ])
}

/** Waits for all of them, also when one fails. */
const all = async (tasks: ReadonlyArray<Promise<unknown>>): Promise<void> => {
  for (const task of await Promise.allSettled(tasks)) if (task.status === "rejected") problems.push(task.reason)
}

/** Neither koffi nor the program flock, on a Node without an FFI: one sentence says so, and what to do. */
const noWayToLock = async (folder: string): Promise<void> => {
  const state = path.join(temporary, "no-lock")
  const { status, stderr } = await run(process.execPath, ["dist/cli.js", "service", "start"], {
    cwd: folder,
    environment: { PATH: "/nowhere", HELLO_STATE_DIR: state }
  })
  const said =
    /No lock that holds could be taken on .+\. Install the optional dependencies \(koffi\) or the program flock/
  if (status !== 73 || !said.test(stderr)) throw new Error(`without a lock: ended with ${status}\n${stderr}`)
}

const otherProject = async (by: Installer, bare: boolean, packed: Packed, compiled: Promise<void>): Promise<void> => {
  const name = `${by}${bare ? " without optional dependencies" : ""}`
  const folder = path.join(temporary, name.replaceAll(" ", "-"))
  await step(name, () => install(folder, { by, bare, packed }))
  writeSources(folder)
  await compiled
  fs.cpSync(path.join(home, "dist"), path.join(folder, "dist"), { recursive: true })
  await all(matrix(by, name, folder, bare))
  if (by === "npm" && bare) await step("no way to lock", () => noWayToLock(folder))
}

try {
  const packed: Packed = { tarballs: await packAll(path.join(temporary, "tarballs")), bun: bun ?? "bun" }
  console.log("packed")
  const compiled = byReadme(packed)
  const installers = (["npm", "pnpm", "bun"] as const).filter((by) => by !== "bun" || bun !== undefined)
  await all([
    compiled.then(() => all([...matrix("npm", "npm", home, false), bundled(), executables()])),
    step("template", () => tryTemplate(path.join(temporary, "my-service"), packed, environment)),
    ...installers.flatMap((by) => [
      ...(by === "npm" ? [] : [otherProject(by, false, packed, compiled)]),
      otherProject(by, true, packed, compiled)
    ])
  ])
  problems.push(...processesOf(temporary).map(({ command, pid }) => `left behind: ${pid} ${command}`))
} finally {
  fs.rmSync(temporary, { recursive: true, force: true })
}
for (const problem of problems) console.error(problem instanceof Error ? problem.message : problem)
console.log(`${tried} ways to run it, ${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1
