/** What would be published, packed: `workspace:` and `catalog:` become versions, and `exports` name what was built. */
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"

const root = path.join(import.meta.dirname, "..")

export const manifestOf = (folder: string): Record<string, any> =>
  JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"))

/** The library's packages and the template's, by the name of each: those that it depends on come first. */
export const publishable: ReadonlyMap<string, string> = new Map(
  ["packages/lock", "packages/lifecycle", "packages/client", "packages/testkit", "create"].map((folder) => [
    manifestOf(path.join(root, folder))["name"],
    path.join(root, folder)
  ])
)

/** pnpm at the version that the repository names. */
export const pnpm: ReadonlyArray<string> = ["npx", "-y", "--prefer-offline", manifestOf(root)["packageManager"]]

const run = promisify(execFile)

/** Packs all of them into a directory and answers the tarball of each, by the name of its package. Needs `npm run build`. */
export const packAll = async (to: string): Promise<ReadonlyMap<string, string>> => {
  const [command, ...args] = pnpm
  const tarballs = new Map<string, string>()
  await Promise.all(
    [...publishable].map(async ([name, folder]) => {
      const { stdout } = await run(command!, [...args, "pack", "--json", "--pack-destination", to], { cwd: folder })
      tarballs.set(name, path.resolve(to, JSON.parse(stdout).filename))
    })
  )
  return tarballs
}
