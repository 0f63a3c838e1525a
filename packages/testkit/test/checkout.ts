/** A program in a checkout of its own, run from its sources, and clients of it that are processes. */
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { environmentOf } from "./elsewhere.ts"

const packages = fileURLToPath(new URL("../..", import.meta.url))

const sources = {
  "package.json": '{ "type": "module" }',
  "service.ts": `
    import { define, devVersion } from "@holdfast/lifecycle/ServiceSpec"
    export const service = define({
      app: "fixture",
      title: "Fixture",
      version: devVersion("1.0.0", import.meta.url),
      entry: new URL("./daemon.ts", import.meta.url)
    })`,
  "daemon.ts": `
    import * as fs from "node:fs"
    import { runDaemon } from "@holdfast/lifecycle/daemon"
    import { service } from "./service.ts"
    const { directory } = JSON.parse(process.env["HOLDFAST_SERVICE"]!)
    const code = await runDaemon(service, () => (fs.appendFileSync("boots", process.pid + "\\n"), import("./application.ts")))`,
  "application.ts": `
    import * as Application from "@holdfast/lifecycle/Application"
    import * as HttpRouter from "effect/http/HttpRouter"
    import * as HttpServerResponse from "effect/http/HttpServerResponse"
    import * as Effect from "effect/Effect"
    import { words } from "./words.ts"
    export default Application.make(HttpRouter.add("GET", "/words", Effect.succeed(HttpServerResponse.text(words))))`,
  "client.ts": `
    import * as fs from "node:fs"
    import { createServiceClient } from "@holdfast/client/promise"
    import { service } from "./service.ts"
    const [verb, directory, barrier] = process.argv.slice(2)
    if (barrier !== undefined) {
      fs.writeFileSync(barrier + "-" + process.pid, "")
      while (!fs.existsSync(barrier)) await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const client = createServiceClient({ ...service, directory })
    try {
      const ready = await client[verb]()
      const words = await (await client.fetch("/words")).text()
      process.stdout.write(JSON.stringify({ mine: service.version, ready, words }))
    } catch ({ _tag, message }) {
      process.stdout.write(JSON.stringify({ mine: service.version, _tag, message }))
    } finally {
      await client.dispose()
    }`
}

export interface Answer {
  /** The version that the client's process is of. */
  readonly mine: string
  readonly ready?: { readonly version: string; readonly pid: number; readonly instanceID: string }
  readonly words?: string
  readonly _tag?: string
  readonly message?: string
}

export interface Checkout {
  /** Changes what the service says, as an editor does. */
  readonly edit: (words: string) => void
  /** With `barrier` the client waits, with its version known, until that file is there. */
  readonly run: (verb: "launch" | "reconnect", barrier?: string) => Effect.Effect<Answer>
}

export const checkout = (kit: Testkit["Service"]): Checkout => {
  const { directory } = kit.paths
  const place = path.join(path.dirname(directory), "program")
  fs.mkdirSync(path.join(place, ".git"), { recursive: true })
  fs.mkdirSync(path.join(place, "node_modules", "@holdfast"), { recursive: true })
  const link = (name: string, to: string) => fs.symlinkSync(fs.realpathSync(to), path.join(place, "node_modules", name))
  for (const name of ["lock", "lifecycle", "client"]) link(`@holdfast/${name}`, path.join(packages, name))
  link("effect", path.join(packages, "lifecycle", "node_modules", "effect"))
  for (const [name, text] of Object.entries(sources)) fs.writeFileSync(path.join(place, name), text)
  const edit = (words: string) => {
    // in one step, so that nobody reads half of it
    fs.writeFileSync(path.join(place, ".words"), `export const words = ${JSON.stringify(words)}`)
    fs.renameSync(path.join(place, ".words"), path.join(place, "words.ts"))
  }
  return {
    edit,
    run: (verb, barrier) =>
      Effect.promise(
        (signal) =>
          new Promise((resolve) => {
            const program = ["--conditions", "development", path.join(place, "client.ts"), verb, directory]
            const args = barrier === undefined ? program : [...program, barrier]
            const options = { env: environmentOf(), signal, timeout: 80_000, killSignal: "SIGKILL" } as const
            childProcess.execFile(process.execPath, args, options, (_, stdout, stderr) =>
              resolve(stdout === "" ? { mine: "", message: stderr } : JSON.parse(stdout))
            )
          })
      )
  }
}
