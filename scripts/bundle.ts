/** Bundling programs as executables are shipped: a start of one costs a third of the time. */
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { build, type Plugin } from "rolldown"
import { programs } from "./programs.ts"

const root = path.join(import.meta.dirname, "..")

/** `programs`: the name of each, and its source, from the top of the repository. Answers what was written. */
export const bundled = async (
  directory: string,
  programs: Readonly<Record<string, string>>,
  plugins: ReadonlyArray<Plugin> = []
) => {
  const nameOf = new Map(Object.entries(programs).map(([name, source]) => [path.join(root, source), name]))
  const { output } = await build({
    input: Object.fromEntries(Object.entries(programs).map(([name, source]) => [name, path.join(root, source)])),
    platform: "node",
    external: ["bun:ffi"],
    logLevel: "silent",
    output: {
      dir: directory,
      format: "esm",
      minify: true,
      entryFileNames: "[name].mjs",
      chunkFileNames: "[name]-[hash].mjs"
    },
    // a bundle's own neighbours are bundles, whatever its environment says
    transform: { define: { "process.env.HOLDFAST_FIXTURES": "import.meta.dirname" } },
    plugins: [
      ...plugins,
      {
        name: "entry of a service",
        transform: (code, id) =>
          code.replaceAll(/new URL\("(\.[^"]*)", import\.meta\.url\)/g, (whole, to: string) => {
            const name = nameOf.get(path.join(path.dirname(id), to))
            return name === undefined ? whole : `new URL("./${name}.mjs", import.meta.url)`
          })
      }
    ]
  })
  // the one native package that stays outside of a bundle
  fs.symlinkSync(path.join(root, "packages/lock/node_modules"), path.join(directory, "node_modules"))
  return output
}

/**
 * Effect's platform loads `node:https` wherever it loads `node:http`: a sixth of what a client's start costs. Nothing in
 * a test is asked by https.
 */
const withoutHttps: Plugin = {
  name: "without https",
  transform: (code, id) =>
    id.endsWith("/platform-node/dist/internal/http.js") ? code.replace('"node:https"', '"node:http"') : undefined
}

/** Vitest calls this once a run, before the first test; tests start over a thousand processes. */
export const setup = async (): Promise<void> => {
  const cache = path.join(root, "node_modules/.cache")
  fs.mkdirSync(cache, { recursive: true })
  const made = fs.mkdtempSync(path.join(cache, "fixtures-"))
  fs.chmodSync(made, 0o755) // tests run them as other users too
  const hash = crypto.createHash("sha256")
  for (const one of await bundled(made, programs, [withoutHttps]))
    hash.update(one.fileName).update("code" in one ? one.code : "")
  const place = path.join(cache, `fixtures-${hash.digest("hex").slice(0, 16)}`)
  // the same programs are at the same place, so that their compiled code is found again
  if (fs.existsSync(place)) fs.rmSync(made, { recursive: true })
  else fs.renameSync(made, place)
  process.env["HOLDFAST_FIXTURES"] = place
}
