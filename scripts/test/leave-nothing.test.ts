import { assert, describe, it } from "vitest"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { setup, teardown } from "../leave-nothing.ts"

const words = (ended: Promise<void>): Promise<string> =>
  ended.then(
    () => "nothing",
    ({ message }: Error) => message
  )

describe("a run", () => {
  it("that leaves nothing passes, and its temporary directory is gone", async () => {
    const before = os.tmpdir()
    setup()
    const own = os.tmpdir()
    assert.notStrictEqual(own, before)
    assert.strictEqual(await words(teardown(0)), "nothing")
    assert.isFalse(fs.existsSync(own))
    assert.strictEqual(os.tmpdir(), before)
  })

  it("that leaves a file fails with its path", async () => {
    setup()
    const own = os.tmpdir()
    fs.writeFileSync(path.join(own, "forgotten"), "")
    assert.include(await words(teardown(0)), `file ${path.join(own, "forgotten")}`)
    fs.rmSync(own, { recursive: true })
  })

  it("that leaves a process fails with its pid; the runner's own children are not meant", async () => {
    setup()
    const own = os.tmpdir()
    // its parent has ended, as that of a service
    const starter = spawn("sh", ["-c", `cd ${own} && sleep 60 & echo $!`], { stdio: ["ignore", "pipe", "ignore"] })
    const pid = await new Promise<number>((resolve) => starter.stdout.once("data", (text) => resolve(Number(text))))
    await new Promise((resolve) => (starter.exitCode === null ? starter.once("exit", resolve) : resolve(undefined)))
    const child = spawn("sleep", ["60"], { cwd: own })
    try {
      const found = await words(teardown(0))
      assert.include(found, `process ${pid} sleep 60`)
      assert.notInclude(found, String(child.pid))
    } finally {
      process.kill(pid, "SIGKILL")
      child.kill("SIGKILL")
      fs.rmSync(own, { recursive: true })
    }
  })
})
