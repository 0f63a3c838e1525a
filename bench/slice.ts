/**
 * `npm run bench`: the whole slice against bare runtimes, in one run: what a loser costs, a cold start until answered,
 * an attach. Bundled, as an executable is shipped.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { bundled } from "../scripts/bundle.ts"
import { type Candidate, end, measure, median } from "./measure.ts"

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const runs = Number(process.argv[2] ?? 15) || 15

const root = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-bench-"))
const bundle = path.join(root, "bundle")
await bundled(bundle, {
  client: "examples/minimal/src/client.ts",
  daemon: "examples/minimal/src/daemon.ts",
  cli: "examples/minimal/src/cli.ts"
})

const state = path.join(root, "state")
fs.mkdirSync(state, { mode: 0o700 })
const environment = { HELLO_STATE_DIR: state, NODE_COMPILE_CACHE: path.join(root, "cache") }
const cli = (...args: ReadonlyArray<string>) =>
  spawnSync(process.execPath, [path.join(bundle, "cli.mjs"), "service", ...args], {
    env: { PATH: process.env["PATH"], ...environment },
    encoding: "utf8"
  })
const stop = () => void cli("stop")
const note = path.join(state, "service.owner.json")

let kept = ""
let plainServer = ""
const bare: Candidate = { name: "bare runtime, -e 0", args: () => ["-e", "0"] }
const floor: ReadonlyArray<Candidate> = [
  {
    name: "plain client spawns a plain server",
    args: () => [file("./floor/client.mjs")],
    after: (stdout) => end(Number(stdout))
  },
  { name: "plain client of a running server", args: () => [file("./floor/client.mjs"), plainServer] }
]
const cold: Candidate = {
  name: "cold client until answered",
  args: () => (stop(), [path.join(bundle, "client.mjs")]),
  environment
}
const warm: Candidate = {
  name: "client of a running service",
  args: () => [path.join(bundle, "client.mjs")],
  environment
}
const loser = (name: string, prepare: () => void): Candidate => ({
  name,
  args: () => (prepare(), [path.join(bundle, "daemon.mjs")]),
  environment
})

try {
  const server = spawnSync(process.execPath, [file("./floor/client.mjs")], { encoding: "utf8" })
  const pid = Number(server.stdout)
  plainServer = portOf(pid)
  const [coldFloor, coldOurs] = measure(runs, [floor[0]!, cold])
  const [warmFloor, warmOurs] = measure(runs, [floor[1]!, warm])
  kept = fs.readFileSync(note, "utf8")
  const [nothing, byNote, byLock] = measure(runs, [
    bare,
    loser("loser, by the owner's note", () => fs.writeFileSync(note, kept)),
    loser("loser, by the lock (with its retry of 1 s)", () => fs.rmSync(note, { force: true }))
  ])
  fs.writeFileSync(note, kept)
  end(pid)
  const row = (what: string, ours: ReadonlyArray<number>, limit: ReadonlyArray<number>) =>
    console.log(
      `| ${what} | ${median(ours).toFixed(0)} ms | ${median(limit).toFixed(0)} ms | ${(median(ours) / median(limit)).toFixed(2)}× |`
    )
  console.log(`Node ${process.version}, median of ${runs} interleaved runs, bundled, compile cache on\n`)
  console.log("| what | ours | floor in the same run | ratio |\n| --- | --- | --- | --- |")
  row("cold client process until answered / plain client that spawns a plain server", coldOurs!, coldFloor!)
  row("client process of a running service / plain client of a running server", warmOurs!, warmFloor!)
  row("contender that loses, by the owner's note / bare runtime", byNote!, nothing!)
  row("contender that loses, by the lock alone, its retry of 1 s included / bare runtime", byLock!, nothing!)
} finally {
  if (kept !== "" && !fs.existsSync(note)) fs.writeFileSync(note, kept)
  stop()
  fs.rmSync(root, { recursive: true, force: true })
}

/** The port a process listens on, from the kernel's table. */
function portOf(pid: number): string {
  const inodes = new Set(
    fs
      .readdirSync(`/proc/${pid}/fd`)
      .flatMap((fd) => /socket:\[(\d+)\]/.exec(fs.readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [])
  )
  for (const line of fs.readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1)) {
    const fields = line.trim().split(/\s+/)
    if (fields[3] === "0A" && inodes.has(fields[9]!)) return String(Number.parseInt(fields[1]!.split(":")[1]!, 16))
  }
  throw new Error("the plain server does not listen")
}
