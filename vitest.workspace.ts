import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const project = (root: string) => ({
  extends: true as const,
  test: {
    name: root.slice(root.indexOf("/") + 1),
    root,
    include: ["test/**/*.test.ts"]
  }
})

export default defineConfig({
  test: {
    reporters: ["default", "./vitest.plain-reporter.ts"],
    // tests start real processes; two cores do not carry more files at once
    globalSetup: "./scripts/bundle.ts",
    maxWorkers: 3,
    maxConcurrency: 3,
    // most of a test's time is Node reading the same sources in yet another process
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("./node_modules/.cache/node-compile", import.meta.url)) },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    projects: [
      "packages/lock",
      "packages/lifecycle",
      "packages/client",
      "packages/testkit",
      "examples/minimal",
      "examples/codesearch",
      "examples/consumer",
      "scripts"
    ].map(project)
  }
})
