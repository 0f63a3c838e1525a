import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node"

/** Why a test was skipped: the words that its full name, or who skipped it while it ran, gives in brackets. */
export const reasonOf = (name: string): string =>
  /.*\((needs [^)]*)\)/.exec(name)?.[1] ?? /\(([^()]*)\)$/.exec(name)?.[1] ?? "no reason given"

/** Closes the run with plain, colour-free lines: each reason for skipping with its count, and "N passed, N failed, N skipped". */
export default class PlainReporter implements Reporter {
  private chosen: RegExp | undefined

  onInit(vitest: Vitest): void {
    this.chosen = vitest.config.testNamePattern
  }

  private why(test: TestCase): string {
    if (this.chosen !== undefined && !this.chosen.test(test.fullName.replaceAll(" > ", " ")))
      return "not asked for by -t"
    const result = test.result()
    return result.state === "skipped" && result.note !== undefined ? result.note : reasonOf(test.fullName)
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<unknown>): void {
    let passed = 0
    let failed = unhandled.length
    let skipped = 0
    const reasons = new Map<string, number>()
    for (const module of modules) {
      if (module.errors().length > 0) failed += 1
      for (const test of module.children.allTests()) {
        const state = test.result().state
        if (state === "passed") passed += 1
        else if (state === "failed") failed += 1
        else {
          skipped += 1
          const why = this.why(test)
          reasons.set(why, (reasons.get(why) ?? 0) + 1)
        }
      }
    }
    const lines = [...reasons].toSorted().map(([why, count]) => `${count} skipped: ${why}`)
    lines.push(`${passed} passed, ${failed} failed, ${skipped} skipped`)
    process.on("exit", () => process.stdout.write(`${lines.join("\n")}\n`))
  }
}
