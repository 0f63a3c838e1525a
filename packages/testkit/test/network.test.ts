import { assert, describe, it } from "@effect/vitest"
import { unless } from "@holdfast/testkit/Capability"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { type ClientOptions, clientSays } from "./elsewhere.ts"
import { stranger } from "./faulting.ts"
import { runtimes } from "./runtimes.ts"
import { boots, withKit } from "./withKit.ts"

/** From cold: starts the service, uses, restarts and stops it. */
const everything = (kit: Testkit["Service"], options: ClientOptions) =>
  Effect.gen(function* () {
    const said = yield* clientSays("everything", kit.paths.directory, options)
    const [first, second] = boots(kit)
    assert.deepStrictEqual(
      said.value,
      {
        pid: first,
        called: `hello from ${first}`,
        status: { type: "ready" },
        restarted: "Restarted",
        calledAgain: `hello from ${second}`,
        stopped: "Stopped"
      },
      said.output
    )
    assert.lengthOf(boots(kit), 2)
  })

describe.concurrent("proxy variables", () => {
  for (const { name, path: runtime } of runtimes) {
    const reason = runtime === undefined ? ` (${name} is not installed: npm run runtimes)` : ""
    it.live.skipIf(runtime === undefined)(
      `never apply to the service, under ${name}: every verb works, and the proxy is not asked${reason}`,
      () =>
        withKit({}, (kit) =>
          Effect.gen(function* () {
            const proxy = yield* kit.occupyPort("answers")
            const names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
            const env = { ...Object.fromEntries(names.map((one) => [one, proxy.url])), NODE_USE_ENV_PROXY: "1" }
            yield* everything(kit, { env, runtime: runtime! })
            assert.deepStrictEqual([proxy.connections(), proxy.received()], [0, ""])
          })
        )
    )
  }
})

const hasIPv6 = Object.values(os.networkInterfaces()).some((found) => found?.some(({ address }) => address === "::1"))
const mounts = unless("mount namespace")
const why = mounts.skip ? mounts.suffix : !hasIPv6 ? " (needs IPv6)" : ""

const isTaken = (port: number) =>
  Effect.callback<boolean>((resume) => {
    const server = net.createServer()
    server.on("error", () => resume(Effect.succeed(true)))
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(false))))
  })

describe.concurrent("the name localhost", () => {
  for (const [what, hosts] of [
    ["means ::1 only", "::1 localhost\n"],
    ["means another host", "10.0.0.1 localhost\n"],
    ["means nothing, in an empty hosts file", ""]
  ] as const) {
    it.live.skipIf(why !== "")(
      `${what}: every verb works, and a program on ::1 at the service's own port is not touched${why}`,
      () =>
        Effect.gen(function* () {
          const take = stranger("answers", { host: "::1" })
          let decoy = yield* take
          while (yield* isTaken(decoy.port)) decoy = yield* take // on 127.0.0.1 it may be another test's
          yield* withKit({ port: decoy.port }, (kit) =>
            Effect.gen(function* () {
              const file = path.join(path.dirname(kit.paths.directory), "hosts")
              fs.writeFileSync(file, hosts)
              const mounted = 'mount --bind "$0" /etc/hosts && exec "$@"'
              yield* everything(kit, { before: ["unshare", "-m", "sh", "-c", mounted, file] })
              assert.deepStrictEqual([decoy.connections(), decoy.received()], [0, ""])
            })
          )
        }).pipe(Effect.scoped)
    )
  }
})
