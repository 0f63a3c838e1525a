/** `npm run check`: every project through the compiler that also knows Effect (an Effect left floating is an error). */
import { spawnSync } from "node:child_process"
import * as path from "node:path"
import { compiler } from "./compiler.ts"

const root = path.join(import.meta.dirname, "..")
const { error, status } = spawnSync(compiler(), ["-b", root, ...process.argv.slice(2)], { stdio: "inherit" })
if (error !== undefined) throw error
process.exitCode = status ?? 1
