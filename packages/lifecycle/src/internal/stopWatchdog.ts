/**
 * Ends a process whose stop takes too long, from a thread of its own: the event loop may be what hangs. Half-alive is
 * worse than dead (DESIGN §4).
 */
const body = `
const { workerData, parentPort } = process.getBuiltinModule("node:worker_threads")
const fs = process.getBuiltinModule("node:fs")
setTimeout(() => {
  try { fs.writeSync(2, workerData.words + "\\n") } catch {}
  process.kill(process.pid, "SIGKILL")
}, workerData.afterMs)
`

/** Starts it. Nothing disarms it but the end of the process, which it does not hold up. */
export const armWatchdog = (afterMs: number, words: string): void => {
  try {
    const { Worker } = process.getBuiltinModule("node:worker_threads")
    const worker = new Worker(body, {
      eval: true,
      workerData: { afterMs, words },
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
