/**
 * The programs of `fixture/`, bundled once for the whole run, as an executable is shipped: a start of one costs a third of
 * the time, and tests start over a thousand. Vitest calls this before the first test.
 */
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** What is run as a program; the others are loaded into one, or read from its source. */
const programs = [
  "client",
  "commandLine",
  "quickLine",
  "beginning",
  "daemon",
  "flaky",
  "jobsDaemon",
  "lawless",
  "terminalUi",
  "versionClient",
  "versionDaemon",
  "oddOwner",
  "faults"
]

export const setup = async (): Promise<void> => {
  const cache = file("../../../node_modules/.cache")
  fs.mkdirSync(cache, { recursive: true })
  const made = fs.mkdtempSync(path.join(cache, "fixtures-"))
  fs.chmodSync(made, 0o755) // tests run them as other users too
  const { output } = await build({
    input: Object.fromEntries(programs.map((name) => [name, file(`./fixture/${name}.ts`)])),
    platform: "node",
    external: ["koffi", "bun:ffi"],
    resolve: { conditionNames: ["development", "node", "import", "default"] },
    logLevel: "silent",
    output: { dir: made, format: "esm", entryFileNames: "[name].mjs", chunkFileNames: "[name]-[hash].mjs" },
    // a bundle's own neighbours are bundles, whatever its environment says
    transform: { define: { "process.env.HOLDFAST_FIXTURES": "import.meta.dirname" } }
  })
  // the one native package that stays outside of a bundle
  fs.symlinkSync(file("../../lock/node_modules"), path.join(made, "node_modules"))
  const hash = crypto.createHash("sha256")
  for (const one of output) hash.update(one.fileName).update("code" in one ? one.code : "")
  const place = path.join(cache, `fixtures-${hash.digest("hex").slice(0, 16)}`)
  // the same programs are at the same place, so that their compiled code is found again
  if (fs.existsSync(place)) fs.rmSync(made, { recursive: true })
  else fs.renameSync(made, place)
  process.env["HOLDFAST_FIXTURES"] = place
}
