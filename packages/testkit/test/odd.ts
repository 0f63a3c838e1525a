/** Services of several versions, and owners that are not like ours. */
import { type Access, ServiceClient } from "@holdfast/client/ServiceClient"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Layer, type Scope } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { environmentOf } from "./elsewhere.ts"
import type { How } from "./fixture/oddOwner.ts"
import { programOf } from "./fixture/programs.ts"

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
    args: ["--conditions", "development", programOf("versionDaemon"), installed]
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
          ["--conditions", "development", programOf("oddOwner"), directory, how, version],
          { stdio: ["ignore", "inherit", "inherit"] }
        )
      ),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    )
    yield* kit.eventually(
      "the odd owner is registered",
      () => fs.existsSync(kit.paths.registration) && fs.readFileSync(kit.paths.registration, "utf8"),
      (text) => text !== false && text.includes(`odd-${child.pid}`),
      { within: "30 seconds" }
    )
    return { pid: child.pid!, hasEnded: () => child.exitCode !== null || child.signalCode !== null }
  })

const lives = (kit: Testkit["Service"]) => lines(path.join(kit.paths.directory, "lives"))

/** Whose application ran, in order; fails when one began before another had ended, or was killed. */
export const reigns = (kit: Testkit["Service"]): ReadonlyArray<{ readonly version: string; readonly pid: number }> => {
  const all = lives(kit).map((line) => line.split(" "))
  const ups = all.filter(([what]) => what === "up")
  const expected = ups.flatMap(([, version, pid]) => [`up ${version} ${pid}`, `down ${version} ${pid}`])
  const story = lives(kit).join(", ")
  if (!`${expected.join(", ")}, `.startsWith(`${story}, `)) throw new Error(`Not one after the other: ${story}`)
  return ups.map(([, version, pid]) => ({ version: version!, pid: Number(pid) }))
}

export interface Program {
  readonly pid: number
  /** Lines of JSON that it printed. */
  readonly said: () => ReadonlyArray<any>
  readonly ended: Effect.Effect<void>
}

/** A program of that version, in a process of its own; killed with the test. */
export const program = (
  kit: Testkit["Service"],
  verb: "launch" | "reconnect",
  version: string
): Effect.Effect<Program, never, Scope.Scope> =>
  Effect.gen(function* () {
    const args = ["--conditions", "development", programOf("versionClient"), verb, kit.paths.directory, version]
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        childProcess.spawn(process.execPath, args, { env: environmentOf(), stdio: ["ignore", "pipe", "inherit"] })
      ),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    )
    let text = ""
    child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()))
    const ended = new Promise<void>((resolve) => child.on("close", () => resolve()))
    return {
      pid: child.pid!,
      said: () =>
        text
          .split("\n")
          .slice(0, -1)
          .map((line) => JSON.parse(line)),
      ended: Effect.promise(() => ended)
    }
  })

/** A fresh start of a program of that version, to its end: what it said. */
export const launched = (kit: Testkit["Service"], version: string) =>
  Effect.gen(function* () {
    const one = yield* program(kit, "launch", version)
    yield* one.ended
    return one.said()[0]
  })
