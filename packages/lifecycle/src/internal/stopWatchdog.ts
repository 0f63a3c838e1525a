/**
 * Ends a process whose stop takes too long, from a thread of its own: the event loop may be what hangs. Half-alive is
 * worse than dead (DESIGN §4).
 */
const body = `
const { workerData } = process.getBuiltinModule("node:worker_threads")
const fs = process.getBuiltinModule("node:fs")
setTimeout(() => {
  try { fs.writeSync(2, workerData.words + "\\n") } catch {}
  process.kill(process.pid, "SIGKILL")
}, Math.max(0, Number(workerData.deadline - process.hrtime.bigint()) / 1e6))
`

/** Starts it. Nothing disarms it but the end of the process, which it does not hold up. */
export const armWatchdog = (afterMs: number, words: string): void => {
  try {
    const { Worker } = process.getBuiltinModule("node:worker_threads")
    const worker = new Worker(body, {
      eval: true,
      // a moment of the clock both threads read: the thread may take its time to start
      workerData: { deadline: process.hrtime.bigint() + BigInt(afterMs) * 1_000_000n, words },
      execArgv: [],
      env: {},
      // a small heap: it holds a timer
      resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 }
    })
    worker.on("error", () => undefined)
    worker.unref()
  } catch {
    // without threads the timers of this loop are all there is
    setTimeout(() => process.kill(process.pid, "SIGKILL"), afterMs).unref()
  }
}
