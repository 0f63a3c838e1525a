import * as fs from "node:fs"
import { fileURLToPath } from "node:url"

const installed = (path: string): string | undefined => {
  const file = fileURLToPath(new URL(`../../../runtimes/node_modules/${path}`, import.meta.url))
  return fs.existsSync(file) ? file : undefined
}

const arch = { x64: "x64", arm64: "arm64" }[process.arch as string] ?? process.arch

/** The runtimes that `npm run runtimes` installs, and the one that runs the tests. */
export const runtimes: ReadonlyArray<{ readonly name: string; readonly path: string | undefined }> = [
  { name: `Node ${process.versions.node.split(".")[0]}`, path: process.execPath },
  { name: "Node 22", path: installed(`node22-linux-${arch}/bin/node`) },
  { name: "Node 26", path: installed(`node26-linux-${arch}/bin/node`) },
  { name: "Bun", path: installed(`@oven/bun-linux-${arch === "arm64" ? "aarch64" : arch}/bin/bun`) }
]
