/**
 * `npm run bench -- client`: finding, starting and following a service, against bare runtimes and plain programs in the
 * same run. Bundled, as an executable is shipped.
 */
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { bundled } from "../scripts/bundle.ts"
import { leaseIn } from "./client/lease.ts"
import { end, measure, median } from "./measure.ts"

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const runs = 15
const frozenMs = Number(process.env["FROZEN_MS"] ?? 40_000)

const root = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-bench-"))
const bundle = path.join(root, "bundle")
await bundled(bundle, {
  cold: "bench/client/cold.ts",
  attach: "bench/client/attach.ts",
  status: "bench/client/status.ts",
  daemon: "examples/minimal/src/daemon.ts"
})

const state = path.join(root, "state")
const env = { PATH: process.env["PATH"] ?? "", HELLO_STATE_DIR: state, NODE_COMPILE_CACHE: path.join(root, "cache") }
const program = (name: string) => path.join(bundle, `${name}.mjs`)
const ownerPid = (): number => {
  try {
    return (JSON.parse(fs.readFileSync(path.join(state, "service.owner.json"), "utf8")) as { pid: number }).pid
  } catch {
    return 0
  }
}
/** Kills the owner and waits until the kernel has taken it away. */
const kill = (): void => {
  const pid = ownerPid()
  if (pid === 0) return
  end(pid)
  while (/^State:\s+[^ZX]/m.test(statusOf(pid))) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
}
const statusOf = (pid: number): string => {
  try {
    return fs.readFileSync(`/proc/${pid}/status`, "utf8")
  } catch {
    return ""
  }
}
/** As before the first start, but for the compiled code: that is what every start but the very first one has. */
const afresh = (): void => {
  kill()
  fs.mkdirSync(state, { recursive: true, mode: 0o700 })
  for (const name of fs.readdirSync(state)) {
    if (name !== "service.cache") fs.rmSync(path.join(state, name), { recursive: true })
  }
}
const client = (): string => {
  const ran = spawnSync(process.execPath, [program("cold")], { env, encoding: "utf8" })
  if (ran.status !== 0) throw new Error(`The client ended with ${ran.status}: ${ran.stderr}`)
  return ran.stdout
}

/** Milliseconds until all of them have ended, and what each said. */
const together = async (count: number, args: ReadonlyArray<string>) => {
  const before = performance.now()
  const said = await Promise.all(
    Array.from({ length: count }, () => {
      const child = spawn(process.execPath, [...args], { env, stdio: ["ignore", "pipe", "inherit"] })
      let text = ""
      child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()))
      return new Promise<string>((resolve, reject) =>
        child.on("close", (code) =>
          code === 0 ? resolve(text) : reject(new Error(`One of ${count} ended with ${code}.`))
        )
      )
    })
  )
  return { took: performance.now() - before, said }
}

const row = (what: string, value: string, bound: string) => console.log(`| ${what} | ${value} | ${bound} |`)
const ratio = (ours: ReadonlyArray<number>, floor: ReadonlyArray<number>) =>
  `${median(ours).toFixed(0)} / ${median(floor).toFixed(0)} ms = ${(median(ours) / median(floor)).toFixed(2)}×`

const floorPair = { name: "plain client spawns a plain server", args: () => [file("./floor/client.mjs")] }
const endFloor = (stdout: string) => end(Number(stdout))

try {
  console.log(`Node ${process.version}, medians of ${runs} interleaved runs, bundled, compile cache on\n`)
  console.log("| what | measured | bound |\n| --- | --- | --- |")

  afresh()
  client()
  const cached = () => fs.readdirSync(path.join(state, "service.cache"), { recursive: true }).length > 5
  while (!cached()) await new Promise((resolve) => setTimeout(resolve, 50))
  const attached = JSON.parse(spawnSync(process.execPath, [program("attach")], { env, encoding: "utf8" }).stdout)
  row("attach to a ready service, in a process that has its imports", `${median(attached).toFixed(1)} ms`, "3 ms")

  const [bare, status] = measure(runs, [
    { name: "bare runtime", args: () => ["-e", "0"] },
    { name: "service status --json", args: () => [program("status"), "service", "status", "--json"], environment: env }
  ])
  row("`service status --json`, whole process, against the bare runtime", ratio(status!, bare!), "2.5×")

  const [plainCold, cold] = measure(runs, [
    { ...floorPair, after: endFloor },
    { name: "cold client", args: () => (afresh(), [program("cold")]), environment: env }
  ])
  row("cold client until answered, against a plain pair", ratio(cold!, plainCold!), "1.4×")

  const [plainNext, next] = measure(runs, [
    { ...floorPair, after: endFloor },
    { name: "client after kill -9", args: () => (afresh(), client(), kill(), [program("cold")]), environment: env }
  ])
  row("client after `kill -9` of the owner until answered, against the same pair", ratio(next!, plainNext!), "1.4×")

  const herds = { bare: [] as Array<number>, ours: [] as Array<number> }
  const services = new Set<number>()
  for (let run = 0; run < 5; run++) {
    herds.bare.push((await together(50, ["-e", "0"])).took)
    afresh()
    const { said, took } = await together(50, [program("cold")])
    herds.ours.push(took)
    services.add(new Set(said.map((text) => Number.parseInt(text, 10))).size)
  }
  row(
    "fifty cold clients at once, all answered, against fifty bare runtimes at once",
    `${ratio(herds.ours, herds.bare)}, ${[...services].join(" or ")} service`,
    "6×, one service"
  )

  const pid = ownerPid()
  const lease = leaseIn(state)
  process.kill(pid, "SIGSTOP")
  await new Promise((resolve) => setTimeout(resolve, frozenMs))
  const before = lease()
  const thawed = performance.now()
  process.kill(pid, "SIGCONT")
  while (lease() === before && performance.now() - thawed < 5000) await new Promise((resolve) => setImmediate(resolve))
  row("thaw after 40 s frozen until the lease is re-armed", `${(performance.now() - thawed).toFixed(0)} ms`, "50 ms")
} finally {
  kill()
  fs.rmSync(root, { recursive: true, force: true })
}
