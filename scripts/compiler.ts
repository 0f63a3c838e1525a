/** The compiler of this repository: TypeScript, with Effect's own diagnostics. */
import { execFileSync } from "node:child_process"
import * as path from "node:path"

const root = path.join(import.meta.dirname, "..")

/** Its program. */
export const compiler = (): string => {
  const tsgo = path.join(root, "node_modules/@effect/tsgo/dist/effect-tsgo.cjs")
  return execFileSync(process.execPath, [tsgo, "get-exe-path"], { cwd: root, encoding: "utf8" }).trim()
}
