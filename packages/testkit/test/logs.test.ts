import { assert, describe, it, vi } from "@effect/vitest"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { commandOf, type Running, service, serviceRunning } from "./commandLine.ts"
import { withKit } from "./withKit.ts"

const line = (n: number) => `2026-01-01T00:00:00.000Z INFO  4b1f9c2e line ${n}\n`
const lines = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => line(from + n)).join("")

const withoutWatch = new URL("./fixture/withoutWatch.ts", import.meta.url).href

/** What the service does when its log is full: see `LogFile.check`. */
const rotate = (log: string) => {
  fs.rmSync(`${log}.1`, { force: true })
  fs.copyFileSync(log, `${log}.1`)
  fs.truncateSync(log, 0)
}

const prints = (kit: Testkit["Service"], running: Running, text: string) =>
  kit.eventually(`it has printed ${JSON.stringify(text.slice(-60))}`, running.stdout, (printed) => printed === text)

/** A line of shell with the command as `$@`; its last line says how each part of the pipe ended. */
const piped = (directory: string, args: ReadonlyArray<string>, pipe: string) => {
  const { command, env } = commandOf(directory, args)
  const script = `"$@" | ${pipe}; echo "ended with \${PIPESTATUS[*]}"`
  return childProcess.spawn("bash", ["-c", script, "bash", ...command], { env, stdio: ["ignore", "pipe", "pipe"] })
}

// several processes one after the other, each of which a busy machine may need seconds for
vi.setConfig({ testTimeout: 60_000 })

describe.concurrent("logs", () => {
  it.live("without -f prints the last lines, and reaches back into the older part when the log was just emptied", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { directory, log } = kit.paths
        const print = (...args: ReadonlyArray<string>) => service(directory, ["logs", ...args])
        fs.writeFileSync(log, lines(1, 150))
        assert.strictEqual((yield* print()).stdout, lines(51, 150))
        assert.strictEqual((yield* print("-n", "2")).stdout, lines(149, 150))
        rotate(log)
        fs.appendFileSync(log, lines(151, 152))
        assert.strictEqual((yield* print("-n", "5")).stdout, lines(148, 152))
        assert.strictEqual((yield* print("--lines", "1000")).stdout, lines(1, 152))
        fs.truncateSync(log, 0)
        assert.strictEqual((yield* print("-n", "1")).stdout, line(150))
      })
    )
  )

  it.live.each(["0", "-1"])("-n %s is one clear line", (count) =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const said = yield* service(kit.paths.directory, ["logs", `--lines=${count}`])
        assert.strictEqual(said.code, 64)
        assert.include(said.stderr, `--lines ${count} is out of range. Use 1 or more.`)
      })
    )
  )

  it.live.each<[string, Readonly<Record<string, string>>]>([
    ["", {}],
    [" (no watch to be had)", { NODE_OPTIONS: `--import=${withoutWatch}` }]
  ])("-f goes on through a log that is emptied in place, removed and made anew, and loses no line%s", ([_, env]) =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const { directory, log } = kit.paths
        fs.writeFileSync(log, lines(1, 9))
        const running = yield* serviceRunning(directory, ["logs", "-f", "-n", "2"], { env })
        yield* prints(kit, running, lines(8, 9))
        fs.appendFileSync(log, line(10))
        yield* prints(kit, running, lines(8, 10))
        // what was written since and was copied away at once
        fs.appendFileSync(log, lines(11, 13))
        rotate(log)
        fs.appendFileSync(log, line(14))
        yield* prints(kit, running, lines(8, 14))
        // emptied by hand, and longer than before when it is looked at next: the older part is of another time
        fs.writeFileSync(log, lines(15, 40))
        yield* prints(kit, running, lines(8, 40))
        fs.rmSync(log)
        fs.writeFileSync(log, lines(41, 42))
        yield* prints(kit, running, lines(8, 42))
        // the last line of a file that is gone has an end
        fs.appendFileSync(log, "half a line")
        yield* prints(kit, running, `${lines(8, 42)}half a line`)
        fs.renameSync(log, `${log}.moved`)
        fs.writeFileSync(log, line(43))
        yield* prints(kit, running, `${lines(8, 42)}half a line\n${line(43)}`)
        fs.rmSync(directory, { recursive: true })
        fs.mkdirSync(directory, { mode: 0o700 })
        fs.writeFileSync(log, line(44))
        yield* prints(kit, running, `${lines(8, 42)}half a line\n${lines(43, 44)}`)
        running.child.kill("SIGINT")
        assert.strictEqual(yield* running.ended, 130)
        assert.strictEqual(running.stderr(), "")
      })
    )
  )

  it.live("-f waits for a log that is not there yet, in a directory that is not there yet, and makes neither", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const directory = path.join(kit.paths.directory, "later")
        const running = yield* serviceRunning(directory, ["logs", "--follow"])
        yield* kit.eventually("it says so", running.stderr, (said) =>
          said.startsWith("There is no log yet; it will be")
        )
        assert.isFalse(fs.existsSync(directory))
        fs.mkdirSync(directory, { mode: 0o700 })
        fs.writeFileSync(path.join(directory, "service.log"), line(1))
        yield* prints(kit, running, line(1))
        assert.deepStrictEqual(fs.readdirSync(directory), ["service.log"])
        running.child.kill("SIGTERM")
        assert.strictEqual(yield* running.ended, 130)
      })
    )
  )

  it.live("-f sees a service end and the next one start, and starts none itself", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        const running = yield* serviceRunning(kit.paths.directory, ["logs", "-f"])
        const sees = (sentence: string, pattern: RegExp) =>
          kit.eventually(sentence, running.stdout, (printed) => pattern.test(printed))
        const first = yield* kit.client.ensure()
        yield* sees("the first has started", new RegExp(`starting fixture .* pid ${first.pid},`))
        yield* kit.client.stop()
        yield* sees("it has stopped", new RegExp(`${first.instanceID.slice(0, 8)} stopped\n`))
        const second = yield* kit.client.ensure()
        yield* sees("the second has started", new RegExp(`starting fixture .* pid ${second.pid},`))
        assert.strictEqual(running.stdout(), fs.readFileSync(kit.paths.log, "utf8"))
        running.child.kill("SIGINT")
        assert.strictEqual(yield* running.ended, 130)
      })
    )
  )

  it.live.each([
    ["without -f", ["logs", "-n", "100000"]],
    ["with -f", ["logs", "-f", "-n", "100000"]]
  ] as const)("a reader that has read enough ends it quietly, %s", ([_, args]) =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        fs.writeFileSync(kit.paths.log, lines(1, 15_000))
        const child = piped(kit.paths.directory, args, "head -n 1")
        let said = ""
        for (const stream of [child.stdout, child.stderr])
          stream.on("data", (text: Buffer) => (said += text.toString()))
        const read = yield* kit.eventually(
          "it has ended",
          () => {
            fs.appendFileSync(kit.paths.log, line(1)) // a pipe is found closed only when something is written to it
            return said
          },
          (text) => text.includes("ended with")
        )
        assert.strictEqual(read, `${line(1)}ended with 0 0\n`)
      })
    )
  )
})
