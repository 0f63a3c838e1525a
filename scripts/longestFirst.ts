/**
 * The order of the test files: those that take longest first, so that none is left to run alone at the end. Vitest knows
 * their times from its last run only, and a fresh checkout has had none.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Those that wait and those that compute take turns. */
const longest = [
  "examples/codesearch/test/uiTerminal",
  "packages/testkit/test/chaos",
  "examples/codesearch/test/command",
  "packages/testkit/test/sleep",
  "packages/testkit/test/ownership",
  "packages/testkit/test/herd",
  "packages/testkit/test/wallClock",
  "packages/testkit/test/fenced",
  "scripts/test/documentation",
  "examples/codesearch/test/laws",
  "examples/minimal/test/minimal",
  "examples/consumer/test/service",
  "packages/testkit/test/verification",
  "packages/testkit/test/scenario",
  "packages/testkit/test/displaced",
  "packages/testkit/test/replacing",
  "packages/testkit/test/hostile",
  "packages/testkit/test/leftovers",
  "packages/testkit/test/reconnect",
  "packages/testkit/test/idle",
  "packages/testkit/test/unavailable",
  "packages/testkit/test/timelineBrowser",
  "packages/testkit/test/lawless",
  "packages/testkit/test/fullDisk",
  "packages/testkit/test/versions",
  "packages/testkit/test/client",
  "packages/testkit/test/lifecycle",
  "packages/testkit/test/election"
].map((name) => `/${name}.test.ts`)

const rank = ({ moduleId }: TestSpecification): number => {
  const found = longest.findIndex((name) => moduleId.endsWith(name))
  return found === -1 ? longest.length : found
}

export default class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other))
  }
}
