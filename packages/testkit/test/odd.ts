/** Services of several versions, and owners that are not like ours. */
import { type Access, ServiceClient } from "@holdfast/client/ServiceClient"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Layer, type Scope } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import type { How } from "./fixture/oddOwner.ts"

const fixture = (name: string) => fileURLToPath(new URL(`./fixture/${name}.ts`, import.meta.url))

/** A client of its own, as another process would have. */
export const as = <A, E, R>(
  spec: ServiceSpec,
  use: (client: ServiceClient["Service"]) => Effect.Effect<A, E, R>,
  access: Access = "launch"
) => Effect.flatMap(ServiceClient, use).pipe(Effect.provide(Layer.fresh(ServiceClient.layer(spec, { access }))))

/** The service as a program of `version` has it, whose installed daemon is of `installed`. */
export const versioned = (kit: Testkit["Service"], version: string, installed = version): ServiceSpec => ({
  ...kit.spec,
  version,
  entry: {
    command: process.execPath,
    args: ["--conditions", "development", fixture("versionDaemon"), installed]
  }
})

const lines = (file: string): ReadonlyArray<string> =>
  fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n") : []

/** The versions of the contenders that were started, in order. */
export const starts = (kit: Testkit["Service"]) => lines(path.join(kit.paths.directory, "starts"))
/** What an odd owner was asked, and which signals it got. */
export const asked = (kit: Testkit["Service"]) => lines(path.join(kit.paths.directory, "asked"))
export const signals = (kit: Testkit["Service"]) => lines(path.join(kit.paths.directory, "signals"))

export interface Odd {
  readonly pid: number
  readonly hasEnded: () => boolean
}

/** Starts one and waits until it is registered. It is ended with the test. */
export const oddOwner = (
  kit: Testkit["Service"],
  how: How,
  version = "0.9.0"
): Effect.Effect<Odd, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const { directory } = kit.paths
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        childProcess.spawn(
          process.execPath,
          ["--conditions", "development", fixture("oddOwner"), directory, how, version],
          { stdio: ["ignore", "inherit", "inherit"] }
        )
      ),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    )
    yield* kit.eventually(
      "the odd owner is registered",
      () => fs.existsSync(kit.paths.registration) && fs.readFileSync(kit.paths.registration, "utf8"),
      (text) => text !== false && text.includes(`odd-${child.pid}`)
    )
    return { pid: child.pid!, hasEnded: () => child.exitCode !== null || child.signalCode !== null }
  })
