/** Without a command: says what it does, does it once for the current directory, and says how to go on. */
import { ServiceClient } from "@holdfast/client/ServiceClient"
import * as StatusText from "@holdfast/client/StatusText"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { connect, directoryOf, indexed } from "./client.ts"
import { print } from "./print.ts"
import { codesearch } from "./service.ts"

/** Likely to stand in any source tree, most telling first. */
const samples = ["ManagedService", "export const", "function", "import ", "the "]

export const tour = (tell: (text: string) => void, color: boolean) =>
  Effect.gen(function* () {
    const directory = yield* directoryOf(".")
    yield* Console.log(
      "CodeSearch keeps one index of your source trees in a background service that all terminals share."
    )
    yield* Console.log(`Indexing ${directory}…`)
    const client = yield* connect
    const root = yield* indexed(client, directory, tell)
    const service = yield* ServiceClient
    yield* Console.log(`${StatusText.line(yield* service.state, codesearch).text} ${root.total} files in ${root.path}.`)
    for (const q of samples) {
      const hits = yield* client.search({ query: { q, dir: directory, limit: 3 } })
      if (hits.length === 0) continue
      yield* Console.log(`\nA sample, \`codesearch search ${JSON.stringify(q)} --limit 3\`:`)
      for (const hit of hits) yield* Console.log(`  ${print(hit, { cwd: directory, color })}`)
      break
    }
    yield* Console.log(
      [
        "",
        "The service stays for the next call. From here:",
        "  npm start -- search <text>          find a text",
        "  npm start -- service status         how the service is",
        "  npm start -- service stop           stop it"
      ].join("\n")
    )
  })
