/** The programs that tests start: bundled, when a test run has made the bundle, or as they are written. */
import { fileURLToPath } from "node:url"

const fixture = (name: string) => `packages/testkit/test/fixture/${name}.ts`

/** The name of each in the bundle, and its source, from the top of the repository. */
export const programs = {
  client: fixture("client"),
  commandLine: fixture("commandLine"),
  quickLine: fixture("quickLine"),
  beginning: fixture("beginning"),
  daemon: fixture("daemon"),
  flaky: fixture("flaky"),
  jobsDaemon: fixture("jobsDaemon"),
  lawless: fixture("lawless"),
  faults: fixture("faults"),
  terminalUi: fixture("terminalUi"),
  versionClient: fixture("versionClient"),
  versionDaemon: fixture("versionDaemon"),
  oddOwner: fixture("oddOwner"),
  "codesearch-main": "examples/codesearch/src/main.ts",
  "codesearch-daemon": "examples/codesearch/src/daemon.ts",
  "codesearch-next": "examples/codesearch/test/fixture/next.ts",
  "consumer-daemon": "examples/consumer/app/daemon.ts",
  "minimal-daemon": "examples/minimal/src/daemon.ts"
}

export type Program = keyof typeof programs

export const programOf = (name: Program): string =>
  process.env.HOLDFAST_FIXTURES === undefined ? sourceOf(name) : `${process.env.HOLDFAST_FIXTURES}/${name}.mjs`

/** For what a bundle would hide: which modules are loaded, and when; and for what a reader of the source does. */
export const sourceOf = (name: Program): string => fileURLToPath(new URL(`../${programs[name]}`, import.meta.url))
