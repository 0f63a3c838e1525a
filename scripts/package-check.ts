/**
 * `npm run package-check` (after `npm run build`): packs every package as it would be published, outside the tree, and
 * looks at the tarballs: publint, the types as a consumer resolves them, nothing in them that is ours alone, and
 * whether each module loads with no more than the dependencies that its package declares.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { manifestOf, packAll, publishable } from "./pack.ts"

const root = path.join(import.meta.dirname, "..")
const temporary = fs.mkdtempSync(path.join(os.tmpdir(), "package-check-"))
const problems: Array<string> = []

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

const unpack = (name: string, tarball: string): void => {
  fs.mkdirSync(path.join(temporary, name), { recursive: true })
  run(name, "tar", ["-xzf", tarball, "-C", path.join(temporary, name)], root)
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
}

const checkManifest = (name: string, files: ReadonlyArray<string>): void => {
  const manifest = manifestOf(unpacked(name))
  const text = JSON.stringify(manifest)
  for (const ours of ["workspace:", "catalog:", "./src/"]) {
    if (text.includes(ours)) problems.push(`${name}: "${ours}" is left in package.json`)
  }
  for (const script of ["preinstall", "install", "postinstall", "prepare"]) {
    if (manifest["scripts"]?.[script] !== undefined) problems.push(`${name}: it has the script ${script}`)
  }
  for (const field of ["description", "license", "engines", "version"]) {
    if (manifest[field] === undefined) problems.push(`${name}: ${field} is missing in package.json`)
  }
  for (const file of ["README.md", "LICENSE"]) {
    if (!files.includes(file)) problems.push(`${name}: ${file} is missing`)
  }
}

/** The template installs what this repository is tested with, and its own packages in the version of the template. */
const checkTemplate = (name: string): void => {
  const catalog = fs.readFileSync(path.join(root, "pnpm-workspace.yaml"), "utf8")
  const shared = [...catalog.matchAll(/^ {2}"?([^\s":]+)"?: (\d\S*)$/gm)].map(([, one, version]) => [one, version])
  const tested: Record<string, string> = { ...manifestOf(root)["devDependencies"], ...Object.fromEntries(shared) }
  const { dependencies, devDependencies } = manifestOf(path.join(unpacked(name), "template"))
  for (const [one, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    const expected = publishable.has(one) ? "0.0.0-holdfast" : tested[one]
    if (version !== expected) problems.push(`${name}: its template has ${one} ${version}, tested is ${expected}`)
  }
}

/** Puts the declared dependencies of the package in its reach, and nothing else. */
const link = (name: string): void => {
  const { dependencies, optionalDependencies, peerDependencies } = manifestOf(unpacked(name))
  for (const dependency of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
    const installed = path.join(publishable.get(name)!, "node_modules", dependency)
    const at = path.join(unpacked(name), "node_modules", dependency)
    fs.mkdirSync(path.dirname(at), { recursive: true })
    fs.symlinkSync(publishable.has(dependency) ? unpacked(dependency) : installed, at)
  }
}

const checkLoads = (name: string, modules: ReadonlyArray<string>): void => {
  const script = modules.map((module) => `await import("${name}/${module}")`).join("\n")
  run(name, process.execPath, ["--input-type=module", "-e", script], unpacked(name))
}

try {
  const tarballs = await packAll(temporary)
  for (const [name, tarball] of tarballs) unpack(name, tarball)
  // before the links, so that only what was packed is seen
  const contents = new Map([...publishable.keys()].map((name) => [name, filesOf(unpacked(name))]))
  for (const name of publishable.keys()) link(name)
  for (const [name, files] of contents) {
    const tarball = tarballs.get(name)!
    checkManifest(name, files)
    run(name, "publint", ["run", "--strict", tarball], root)
    if (name === "create-holdfast") {
      checkTemplate(name)
      process.stdout.write(`${name}: ${files.length} files\n`)
      continue
    }
    // a wildcard in `exports` hides its modules from attw, so they are named
    const modules = files.map((file) => /^src\/([^/]+)\.ts$/.exec(file)?.[1]).filter((module) => module !== undefined)
    checkFiles(name, files)
    run(name, "attw", ["--profile", "esm-only", tarball, "--entrypoints", ...modules], root)
    checkLoads(name, modules)
    process.stdout.write(`${name}: ${files.length} files, ${modules.length} entry points\n`)
  }
} finally {
  fs.rmSync(temporary, { recursive: true, force: true })
}
for (const problem of problems) process.stderr.write(`${problem}\n`)
process.exitCode = problems.length === 0 ? 0 : 1
