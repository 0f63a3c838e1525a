/** Programs bundled into one directory, as executables are shipped. */
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** `programs`: the name of each, and its source relative to this directory. */
export const bundled = async (directory: string, programs: Readonly<Record<string, string>>): Promise<void> => {
  await build({
    input: Object.fromEntries(Object.entries(programs).map(([name, source]) => [name, file(source)])),
    platform: "node",
    external: ["koffi", "bun:ffi"],
    logLevel: "silent",
    output: {
      dir: directory,
      format: "esm",
      minify: true,
      entryFileNames: "[name].mjs",
      chunkFileNames: "[name]-[hash].mjs"
    },
    plugins: [{ name: "entry", transform: (code) => code.replace('new URL("./daemon.ts"', 'new URL("./daemon.mjs"') }]
  })
  // the one native package that stays outside of a bundle
  fs.symlinkSync(file("../packages/lock/node_modules"), path.join(directory, "node_modules"))
}
