import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import LongestFirst from "./scripts/longestFirst.ts"

export default defineConfig({
  test: {
    // one project for all: only files of the same project share a worker
    include: ["packages", "examples", "scripts"].map((folder) => `${folder}/**/test/**/*.test.ts`),
    reporters: ["default", "./vitest.plain-reporter.ts"],
    globalSetup: ["./scripts/bundle.ts", "./scripts/leave-nothing.ts"],
    // tests start real processes; most files mostly wait, and two cores carry no more of them at once
    maxWorkers: 5,
    // those of a file that are concurrent mostly wait
    maxConcurrency: 4,
    sequence: { sequencer: LongestFirst },
    // a process for each file, which loads Effect again, is a fifth of all the work; what is real is in other processes
    isolate: false,
    // most of a test's time is Node reading the same sources in yet another process
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("./node_modules/.cache/node-compile", import.meta.url)) },
    testTimeout: 30_000,
    hookTimeout: 30_000
  }
})
