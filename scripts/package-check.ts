/**
 * `npm run package-check` (after `npm run build`): packs every package as it would be published, outside the tree, and
 * looks at the tarballs: publint, the types as a consumer resolves them, nothing in them that is ours alone, and
 * whether each module loads with no more than the dependencies that its package declares.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const root = path.join(import.meta.dirname, "..")
const temporary = fs.mkdtempSync(path.join(os.tmpdir(), "package-check-"))
const problems: Array<string> = []

const manifestOf = (folder: string): Record<string, any> =>
  JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"))

const run = (name: string, command: string, args: ReadonlyArray<string>, cwd: string): void => {
  const env = { ...process.env, NO_COLOR: "1" }
  const { error, output, status } = spawnSync(command, args, { cwd, encoding: "utf8", env })
  if (error !== undefined) throw error
  if (status !== 0) problems.push(`${name}: ${command} says\n${output.join("")}`)
}

const filesOf = (folder: string): ReadonlyArray<string> =>
  fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).replaceAll("\\", "/"))

/** The package of this name as a consumer would find it. */
const unpacked = (name: string): string => path.join(temporary, name, "package")

const pack = (name: string): string => {
  const to = path.join(temporary, name)
  fs.mkdirSync(to)
  const pnpm: string = manifestOf(root)["packageManager"]
  run(
    name,
    "npx",
    ["-y", "--prefer-offline", pnpm, "pack", "--pack-destination", to],
    path.join(root, "packages", name)
  )
  const tarball = path.join(to, fs.readdirSync(to).find((file) => file.endsWith(".tgz")) ?? "")
  run(name, "tar", ["-xzf", tarball, "-C", to], root)
  return tarball
}

const checkFiles = (name: string, files: ReadonlyArray<string>): void => {
  const sources = files.filter((file) => file.startsWith("src/")).map((file) => file.slice("src/".length))
  const built = new Set(files)
  for (const file of files) {
    if (/(^|\/)(test|fixture|node_modules)\/|\.test\.|\.tsbuildinfo$|\.tgz$/.test(file)) {
      problems.push(`${name}: ${file} does not belong in a package`)
    }
    const source = /^dist\/(.+)\.js$/.exec(file)?.[1]
    if (source !== undefined && !sources.includes(`${source}.ts`)) problems.push(`${name}: ${file} has no source`)
  }
  for (const source of sources) {
    const output = `dist/${source.replace(/\.ts$/, ".js")}`
    if (!built.has(output)) problems.push(`${name}: ${output} is missing; run npm run build first`)
  }
  const manifest = JSON.stringify(manifestOf(unpacked(name)))
  for (const ours of ["workspace:", "catalog:", "./src/"]) {
    if (manifest.includes(ours)) problems.push(`${name}: "${ours}" is left in package.json`)
  }
}

/** Puts the declared dependencies of the package in its reach, and nothing else. */
const link = (name: string): void => {
  const { dependencies, optionalDependencies, peerDependencies } = manifestOf(unpacked(name))
  for (const dependency of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
    const [scope, other = ""] = dependency.split("/")
    const installed = path.join(root, "packages", name, "node_modules", dependency)
    const at = path.join(unpacked(name), "node_modules", dependency)
    fs.mkdirSync(path.dirname(at), { recursive: true })
    fs.symlinkSync(scope === "@holdfast" ? unpacked(other) : installed, at)
  }
}

const checkLoads = (name: string, modules: ReadonlyArray<string>): void => {
  const script = modules.map((module) => `await import("@holdfast/${name}/${module}")`).join("\n")
  run(name, process.execPath, ["--input-type=module", "-e", script], unpacked(name))
}

try {
  const names = fs.readdirSync(path.join(root, "packages"))
  const tarballs = names.map(pack)
  // before the links, so that only what was packed is seen
  const contents = names.map((name) => filesOf(unpacked(name)))
  names.forEach(link)
  names.forEach((name, index) => {
    const tarball = tarballs[index]!
    const files = contents[index]!
    // a wildcard in `exports` hides its modules from attw, so they are named
    const modules = files.map((file) => /^src\/([^/]+)\.ts$/.exec(file)?.[1]).filter((module) => module !== undefined)
    checkFiles(name, files)
    run(name, "publint", ["run", "--strict", tarball], root)
    run(name, "attw", ["--profile", "esm-only", tarball, "--entrypoints", ...modules], root)
    checkLoads(name, modules)
    process.stdout.write(`${name}: ${files.length} files, ${modules.length} entry points\n`)
  })
} finally {
  fs.rmSync(temporary, { recursive: true, force: true })
}
for (const problem of problems) process.stderr.write(`${problem}\n`)
process.exitCode = problems.length === 0 ? 0 : 1
