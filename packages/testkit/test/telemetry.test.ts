import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { isReady, withKit } from "./withKit.ts"

/** A collector that keeps what it was sent, by path. */
const collector = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<{ readonly url: string; readonly seen: Map<string, string>; readonly server: http.Server }>(
        (resolve) => {
          const seen = new Map<string, string>()
          const server = http.createServer((request, response) => {
            let body = ""
            request.on("data", (chunk) => (body += chunk))
            request.on("end", () => {
              seen.set(request.url!, (seen.get(request.url!) ?? "") + body)
              response.end("{}")
            })
          })
          server.listen(0, "127.0.0.1", () =>
            resolve({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, server })
          )
        }
      )
  ),
  ({ server }) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
)

describe("telemetry", () => {
  it.live(
    "an application that exports gets the boot and the stop as spans, and every count, under their documented names",
    () =>
      Effect.gen(function* () {
        const { seen, url } = yield* collector
        yield* withKit({ collector: url }, (kit) =>
          Effect.gen(function* () {
            const [owner] = yield* kit.swarm(1)
            yield* isReady(kit)
            yield* kit.eventually(
              "the metrics were exported",
              () => seen.get("/v1/metrics") ?? "",
              (text) =>
                ["holdfast_elections", "holdfast_boots", "holdfast_boot_duration"].every((name) => text.includes(name))
            )
            yield* kit.client.stop()
            assert.deepStrictEqual(yield* owner!.exited, { code: 0 })
            for (const name of ["holdfast.boot", "holdfast.stop"]) assert.include(seen.get("/v1/traces") ?? "", name)
            assert.include(seen.get("/v1/metrics") ?? "", "holdfast_stops")
          })
        )
      }).pipe(Effect.scoped)
  )

  it("every name is in the documentation", () => {
    const read = (file: string) => fs.readFileSync(fileURLToPath(new URL(file, import.meta.url)), "utf8")
    const documentation = read("../../../docs/telemetry.md")
    const names = read("../../lock/src/Telemetry.ts").match(/holdfast[_.][a-z_]+/g)!
    assert.isAbove(names.length, 7)
    for (const name of names) assert.include(documentation, `\`${name}\``)
  })
})
