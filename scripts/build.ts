/** `npm run build`: every package to its `dist`, from nothing, so that no output of a deleted module is left in it. */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"

const root = path.join(import.meta.dirname, "..")
const packages = fs.readdirSync(path.join(root, "packages")).map((name) => path.join(root, "packages", name))

for (const home of packages) {
  fs.rmSync(path.join(home, "dist"), { recursive: true, force: true })
  fs.rmSync(path.join(home, "tsconfig.tsbuildinfo"), { force: true })
}
const tsc = path.join(root, "node_modules/typescript/bin/tsc")
process.exitCode = spawnSync(process.execPath, [tsc, "-b", ...packages], { stdio: "inherit" }).status ?? 1
