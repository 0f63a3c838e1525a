/** `npm run bench -- lock`: what the lock, the lease and the watch for sleep cost, and 40,000 raced acquisitions. */
import { Effect, Stream } from "effect"
import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as identity from "../packages/lock/src/identity.ts"
import { attempt } from "../packages/lock/src/internal/acquire.ts"
import { claim, renew } from "../packages/lock/src/internal/lease.ts"
import { throughAny } from "../packages/lock/src/internal/libc.ts"
import { openLease } from "../packages/lock/src/internal/leaseDatabase.ts"
import { inodeOf } from "../packages/lock/src/OwnerNote.ts"
import * as Wake from "../packages/lock/src/Wake.ts"
import { race } from "../packages/lock/test/race.ts"
import { bundled, losers, memoryOfLosers } from "./losers.ts"
import { median } from "./measure.ts"

const root = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-bench-"))
const rounds = 2000

/** Microseconds of each round but the first ones, which warm the code. */
const timed = (round: () => void): ReadonlyArray<number> => {
  const times: Array<number> = []
  for (let index = -rounds / 4; index < rounds; index++) {
    const before = process.hrtime.bigint()
    round()
    if (index >= 0) times.push(Number(process.hrtime.bigint() - before) / 1000)
  }
  return times
}

const acquired = (file: string): string => {
  const outcome = attempt(file)
  if (outcome._tag !== "Taken") throw new Error(`The lock was not taken: ${outcome._tag}.`)
  outcome.grip.close()
  return outcome.primitive
}

const acquisition = (): string => {
  const file = path.join(root, "one.lock")
  const program = path.join(root, "floor")
  const primitive = acquired(file)
  const ours = median(timed(() => void acquired(file)))
  try {
    execFileSync("cc", ["-O2", "-o", program, fileURLToPath(new URL("./floor/lock.c", import.meta.url))])
  } catch {
    return `${ours.toFixed(1)} µs by ${primitive}; no cc here, so no limit to compare with`
  }
  const limit = median(
    execFileSync(program, [file, String(rounds)], { encoding: "utf8" })
      .trim()
      .split("\n")
      .map((line) => Number(line) / 1000)
  )
  const bare = median(timed(bareCalls(file)))
  return `${ours.toFixed(1)} µs by ${primitive}, ${limit.toFixed(1)} µs in C: ${(ours / limit).toFixed(2)}×; the same five calls from JavaScript without our code ${bare.toFixed(1)} µs: ${(ours / bare).toFixed(2)}×`
}

/** What an acquisition cannot do without: open, flock, fstat, stat, close, by the same runtime and FFI. */
const bareCalls = (file: string): (() => void) => {
  const flock = throughAny(({ bind }) => bind({ name: "flock", takes: ["int", "int"], gives: "int" }))!
  return () => {
    const descriptor = fs.openSync(file, fs.constants.O_RDWR)
    flock(descriptor, 2 | 4)
    fs.fstatSync(descriptor, { bigint: true })
    fs.statSync(file, { bigint: true })
    fs.closeSync(descriptor)
  }
}

/** The limit of a commit: one written page, made durable. */
const durableWrite = (): ReadonlyArray<number> => {
  const file = fs.openSync(path.join(root, "page"), "w")
  const page = Buffer.alloc(4096)
  try {
    return timed(() => {
      fs.writeSync(file, page, 0, page.length, 0)
      fs.fdatasyncSync(file)
    })
  } finally {
    fs.closeSync(file)
  }
}

const renewal = (): string => {
  const store = openLease(path.join(root, "lease.sqlite"))
  try {
    let now = Date.now()
    // a row that stays the same is not written by SQLite: the clock moves with each renewal
    const times = () => ({ now: now++, leaseMs: 30_000 })
    const claimant = { instanceID: randomUUID(), identity: identity.own(), lockInode: inodeOf(root) ?? null }
    const claimed = claim(store, claimant, times(), { policy: "strict" })
    if (claimed._tag !== "Claimed") throw new Error(`The lease was not claimed: ${claimed._tag}.`)
    const renewed = () => {
      const outcome = renew(store, claimed.claim, times())
      if (outcome !== "Renewed") throw new Error(`The lease was not renewed: ${JSON.stringify(outcome)}.`)
    }
    const ours = median(timed(renewed)) / 1000
    const limit = median(durableWrite()) / 1000
    return `${ours.toFixed(2)} ms, one durable page ${limit.toFixed(2)} ms: ${(ours / limit).toFixed(2)}×`
  } finally {
    store.close()
  }
}

const idle = Effect.gen(function* () {
  const watch = yield* Effect.forkChild(Stream.runDrain(Wake.gaps))
  yield* Effect.sleep("2 seconds")
  const before = process.cpuUsage()
  yield* Effect.sleep("20 seconds")
  const { system, user } = process.cpuUsage(before)
  watch.interruptUnsafe()
  return `${((100 * (user + system)) / 20_000_000).toFixed(3)} % of a core, this process's own timers included`
})

const raced = Effect.map(race(10_000, 600_000), (racers) => {
  const sum = (count: (racer: (typeof racers)[number]) => number) => racers.reduce((all, one) => all + count(one), 0)
  const failures = racers.flatMap(({ failures }) => failures)
  const answer = `${sum(({ twoOwners }) => twoOwners)} double owners in ${sum(({ taken }) => taken)} (${sum(({ refused }) => refused)} refused) by ${racers.map(({ runtime }) => runtime).join(", ")}`
  return failures.length === 0 ? answer : `${answer}; ${failures.join(" ")}`
})

const row = (what: string, measured: string) => console.log(`| ${what} | ${measured} |`)
try {
  console.log(`Node ${process.version}, medians of ${rounds} rounds\n\n| what | measured |\n| --- | --- |`)
  row("acquire, verify, release / open, flock, close in C", acquisition())
  row("renew and commit / one page written and made durable", renewal())
  const bundle = await bundled(root)
  for (const [what, measured] of await losers(root, bundle)) row(what, measured)
  row("a loser's peak of memory / an owner whose application takes 500 MB", await memoryOfLosers(root, bundle))
  row("the watch for sleep, idle", await Effect.runPromise(idle))
  row("acquisitions raced by every runtime, which also delete the file", await Effect.runPromise(raced))
} finally {
  fs.rmSync(root, { recursive: true, force: true })
}
