/** `npm run check`: every project through the compiler that also knows Effect (an Effect left floating is an error). */
import { execFileSync, spawnSync } from "node:child_process"
import * as path from "node:path"

const root = path.join(import.meta.dirname, "..")
const tsgo = path.join(root, "node_modules/@effect/tsgo/dist/effect-tsgo.cjs")
const compiler = execFileSync(process.execPath, [tsgo, "get-exe-path"], { cwd: root, encoding: "utf8" }).trim()
const { error, status } = spawnSync(compiler, ["-b", root, ...process.argv.slice(2)], { stdio: "inherit" })
if (error !== undefined) throw error
process.exitCode = status ?? 1
