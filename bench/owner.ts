/** `npm run bench -- owner`: what the lifecycle shell costs, against a plain server in the same run. */
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { bundled } from "../scripts/bundle.ts"
import { launchOf } from "../packages/client/src/Spawner.ts"
import * as Credential from "../packages/lifecycle/src/Credential.ts"
import type { ServiceSpec } from "../packages/lifecycle/src/ServiceSpec.ts"
import { attempt } from "../packages/lock/src/internal/acquire.ts"
import { paths } from "../packages/lock/src/ServicePaths.ts"
import { runtimes } from "../packages/lock/test/support.ts"
import { median } from "./measure.ts"

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const runs = 15
const root = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-bench-"))

const bundles = { minimal: "examples/minimal/src/daemon.ts", fixture: "packages/testkit/test/fixture/daemon.ts" }
const daemonOf = async (name: keyof typeof bundles): Promise<string> => {
  const directory = path.join(root, name)
  await bundled(directory, { daemon: bundles[name] })
  return path.join(directory, "daemon.mjs")
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 16 })

const get = (port: number, headers: Readonly<Record<string, string>> = {}, pathname = "/"): Promise<number> =>
  new Promise((resolve, reject) => {
    http
      .get({ host: "127.0.0.1", port, path: pathname, headers, agent }, (response) => {
        response.resume()
        response.on("end", () => resolve(response.statusCode ?? 0))
      })
      .on("error", reject)
  })

interface Running {
  readonly child: ChildProcess
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
  readonly pathname: string
  /** Milliseconds from the spawn to the first answer. */
  readonly answeredAfter: number
}

const firstLine = (stream: NodeJS.ReadableStream): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ""
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      if (text.includes("\n")) resolve(text.slice(0, text.indexOf("\n")))
    })
    stream.on("end", () => reject(new Error("It ended before it said where it listens.")))
  })

const plain = (command: string, program: string) => async (): Promise<Running> => {
  const before = performance.now()
  const child = spawn(command, [file(`./floor/${program}`)], { stdio: ["ignore", "pipe", "ignore"] })
  const port = Number(await firstLine(child.stdout!))
  await get(port)
  return { child, port, headers: {}, pathname: "/", answeredAfter: performance.now() - before }
}

const service = (command: string, daemon: string, state: string) => async (): Promise<Running> => {
  fs.mkdirSync(state, { recursive: true, mode: 0o700 })
  const spec: ServiceSpec = {
    app: "bench",
    version: "1.0.0",
    directory: state,
    entry: { command, args: [daemon] }
  }
  const { args, env } = launchOf(spec, paths(spec), { pipe: 4 })
  const before = performance.now()
  const child = spawn(command, [...args], {
    cwd: state,
    env,
    stdio: ["ignore", "ignore", "ignore", "ignore", "pipe"]
  })
  const pipe = child.stdio[4] as unknown as NodeJS.ReadableStream
  const { registration, token } = JSON.parse(await firstLine(pipe)) as {
    readonly registration: { readonly url: string }
    readonly token: string
  }
  const port = Number(new URL(registration.url).port)
  const headers = { [Credential.tokenHeader]: token }
  await get(port, headers, "/service/health")
  return { child, port, headers, pathname: "/service/health", answeredAfter: performance.now() - before }
}

const ended = (child: ChildProcess): Promise<void> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise((resolve) => child.once("exit", () => resolve()))

const stop = async ({ child }: Running): Promise<void> => {
  child.kill("SIGKILL")
  await ended(child)
}

const ready = async (one: Running): Promise<void> => {
  while ((await get(one.port, one.headers, "/hello")) === 503) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Medians of what is measured of each, in turn, so that a noisy machine is as unfair to each of them. */
const inTurn = async (
  starts: ReadonlyArray<() => Promise<Running>>,
  measured: (one: Running) => Promise<number> | number
): Promise<ReadonlyArray<number>> => {
  const values = starts.map((): Array<number> => [])
  for (let run = -1; run < runs; run++) {
    for (const [index, start] of starts.entries()) {
      const one = await start()
      try {
        const value = await measured(one)
        if (run >= 0) values[index]!.push(value) // the first run only warms the caches
      } finally {
        await stop(one)
      }
    }
  }
  return values.map(median)
}

const residentMb = ({ child }: Running): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${child.pid}/status`, "utf8"))![1]) / 1024

const perSecond = async (one: Running): Promise<number> => {
  const requests = 4000
  const worker = async () => {
    for (let count = 0; count < requests / 16; count++) await get(one.port, one.headers, one.pathname)
  }
  await Promise.all(Array.from({ length: 16 }, worker)) // warm
  const before = performance.now()
  await Promise.all(Array.from({ length: 16 }, worker))
  return (1000 * requests) / (performance.now() - before)
}

const untilFree = async (lock: string): Promise<void> => {
  while (true) {
    const outcome = attempt(lock)
    if (outcome._tag === "Taken") return outcome.grip.close()
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

const row = (what: string, measured: string) => console.log(`| ${what} | ${measured} |`)
const against = (unit: string, digits: number, [ours, ...floors]: ReadonlyArray<number>): string =>
  `${ours!.toFixed(digits)} ${unit}; plain ${floors[0]!.toFixed(digits)}: ${(ours! / floors[0]!).toFixed(2)}×; lean ${floors[1]!.toFixed(digits)}: ${(ours! / floors[1]!).toFixed(2)}×`

try {
  const minimal = await daemonOf("minimal")
  console.log(`medians of ${runs} interleaved runs, bundled\n\n| what | measured |\n| --- | --- |`)
  for (const { command, installed, name } of runtimes) {
    if (!installed) continue
    const three = [
      service(command, minimal, path.join(root, "state")),
      plain(command, "server.mjs"),
      plain(command, "lean.mjs")
    ]
    row(
      `spawn until starting is answered / until a first answer, ${name}`,
      against("ms", 0, await inTurn(three, (one) => one.answeredAfter))
    )
    const settled = async (one: Running) => {
      if (one.pathname !== "/") await ready(one)
      await new Promise((resolve) => setTimeout(resolve, 300))
      return residentMb(one)
    }
    row(`idle memory, ${name}`, against("MB", 0, await inTurn(three, settled)))
  }
  const both = [service(process.execPath, minimal, path.join(root, "state")), plain(process.execPath, "server.mjs")]
  const [healths, answers] = await inTurn(both, perSecond)
  row(
    "health requests per second with a token / a plain handler",
    `${healths!.toFixed(0)} / ${answers!.toFixed(0)}: ${(healths! / answers!).toFixed(2)}×`
  )
  const state = path.join(root, "state")
  const lock = path.join(state, "service.lock")
  const [termed] = await inTurn([both[0]!], async (one) => {
    await ready(one)
    const before = performance.now()
    one.child.kill("SIGTERM")
    await untilFree(lock)
    return performance.now() - before
  })
  row("SIGTERM until the lock is free, idle application", `${termed!.toFixed(0)} ms`)
  const stuck = path.join(root, "stuck")
  fs.mkdirSync(stuck, { mode: 0o700 })
  fs.writeFileSync(path.join(stuck, "knobs.json"), JSON.stringify({ closing: "loop" }))
  const one = await service(process.execPath, await daemonOf("fixture"), stuck)()
  try {
    await ready(one)
    const before = performance.now()
    one.child.kill("SIGTERM")
    await untilFree(path.join(stuck, "service.lock"))
    row(
      "an endless loop at a stop until the lock is free (drain 1 s + 1 s)",
      `${((performance.now() - before) / 1000).toFixed(2)} s`
    )
  } finally {
    await stop(one)
  }
} finally {
  agent.destroy()
  fs.rmSync(root, { recursive: true, force: true })
}
