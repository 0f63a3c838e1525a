import type { Reporter, TestModule } from "vitest/node"

/** Closes the run with one plain, colour-free line: "N passed, N failed, N skipped". */
export default class PlainReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<unknown>): void {
    let passed = 0
    let failed = unhandled.length
    let skipped = 0
    for (const module of modules) {
      if (module.errors().length > 0) failed += 1
      for (const test of module.children.allTests()) {
        const state = test.result().state
        if (state === "passed") passed += 1
        else if (state === "failed") failed += 1
        else skipped += 1
      }
    }
    process.on("exit", () => process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`))
  }
}
