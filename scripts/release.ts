/**
 * `npm run release` (after `npm run build`; in .github/workflows/publish.yml): publishes each package whose version the
 * registry does not have yet, those first that others depend on. `npm run release -- --dry-run` only shows what it would do.
 *
 * On GitHub each package says from which repository, commit and run it was built (provenance), and npm knows by the
 * workflow's identity who publishes: there is no token.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { manifestOf, packAll, publishable } from "./pack.ts"

const root = path.join(import.meta.dirname, "..")
const dryRun = process.argv.includes("--dry-run")
const { GITHUB_ACTIONS, GITHUB_REPOSITORY, GITHUB_SERVER_URL } = process.env
if (GITHUB_ACTIONS === undefined && !dryRun)
  throw new Error("Only .github/workflows/publish.yml publishes; see CONTRIBUTING.md.")

/** Provenance is refused for a package that names another repository, and a fork has another name. */
const nameRepository = (folder: string): void => {
  const repository = {
    type: "git",
    url: `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git`,
    directory: path.relative(root, folder).replaceAll("\\", "/")
  }
  fs.writeFileSync(
    path.join(folder, "package.json"),
    `${JSON.stringify({ ...manifestOf(folder), repository }, undefined, 2)}\n`
  )
}

const npm = (args: ReadonlyArray<string>, stdio: "inherit" | "ignore"): number | null => {
  const { error, status } = spawnSync("npm", args, { stdio })
  if (error !== undefined) throw error
  return status
}

const temporary = fs.mkdtempSync(path.join(os.tmpdir(), "release-"))
try {
  if (GITHUB_ACTIONS !== undefined) for (const folder of publishable.values()) nameRepository(folder)
  const tarballs = await packAll(temporary)
  for (const [name, folder] of publishable) {
    const { version } = manifestOf(folder)
    if (npm(["view", `${name}@${version}`, "version"], "ignore") === 0) {
      process.stdout.write(`${name} ${version} is published already\n`)
      continue
    }
    const flags = [...(dryRun ? ["--dry-run"] : []), ...(GITHUB_ACTIONS === undefined ? [] : ["--provenance"])]
    const status = npm(["publish", tarballs.get(name)!, "--access", "public", ...flags], "inherit")
    if (status !== 0) throw new Error(`npm publish of ${name} ended with ${status}; those before it are published`)
  }
} finally {
  fs.rmSync(temporary, { recursive: true, force: true })
}
