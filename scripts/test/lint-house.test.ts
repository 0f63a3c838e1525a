import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "vitest"
import { lint, rules, sourcesOf, withoutEffect } from "../lint-house.ts"

const root = path.join(import.meta.dirname, "../..")

/** The rules that one source text breaks. */
const reported = (file: string, text: string): ReadonlyArray<string> =>
  lint(new Map([[file, text]])).map(({ rule }) => rule)

/** For each rule: sources that break it, and sources that look alike and break none. */
const cases: Record<string, { readonly breaks: Array<[string, string]>; readonly holds: Array<[string, string]> }> = {
  "no-barrel": {
    breaks: [
      ["packages/client/src/Discovery.ts", `import { Effect } from "effect"`],
      ["packages/client/src/Discovery.ts", `import type { Effect } from "effect"`],
      ["packages/client/src/Discovery.ts", `export type E = import("effect").Effect.Effect<void>`],
      ["packages/client/src/Discovery.ts", `export * from "effect/http"`],
      ["packages/client/src/internal/http.ts", `import { HttpApi } from "effect/http-api"`],
      ["packages/testkit/src/Testkit.ts", `const cli = await import("effect/cli")`],
      ["packages/lifecycle/src/Application.ts", `import { NodeHttpServer } from "@effect/platform-node"`]
    ],
    holds: [
      ["packages/client/src/Discovery.ts", `import * as Effect from "effect/Effect"`],
      ["packages/client/src/Discovery.ts", `import * as HttpClient from "effect/http/HttpClient"`],
      ["packages/client/src/Discovery.ts", `import * as Server from "@effect/platform-node/NodeHttpServer"`],
      ["packages/client/src/Discovery.ts", `// import { Effect } from "effect"`],
      ["packages/client/test/discovery.test.ts", `import { Effect } from "effect"`]
    ]
  },
  "without-effect": {
    breaks: [
      ["packages/lock/src/gate.ts", `import * as Effect from "effect/Effect"`],
      ["packages/lock/src/internal/anything.ts", `import * as fs from "node:fs"`],
      ["packages/lock/src/internal/anything.ts", `import "koffi"`],
      ["packages/lifecycle/src/LifecycleShell.ts", `import * as http from "node:http"`],
      ["packages/lifecycle/src/daemon.ts", `import { Registration } from "./Registration.ts"`],
      ["packages/lifecycle/src/daemon.ts", `import { type Registration } from "./Registration.ts"`],
      ["packages/lifecycle/src/internal/own.ts", `import { serve } from "../ManagedService.ts"`],
      ["packages/client/src/internal/look.ts", `export { ProcessLock } from "@holdfast/lock/ProcessLock"`]
    ],
    holds: [
      ["packages/lock/src/gate.ts", `import type { Effect } from "effect/Effect"`],
      ["packages/lifecycle/src/LifecycleShell.ts", `import type * as Http from "node:http"`],
      ["packages/lifecycle/src/daemon.ts", `import { enter } from "@holdfast/lock/gate"`],
      ["packages/lifecycle/src/internal/own.ts", `const run = await import("./run.ts")`],
      ["packages/lock/src/ProcessLock.ts", `import * as Effect from "effect/Effect"`]
    ]
  },
  "lock-no-http": {
    breaks: [
      ["packages/lock/src/ProcessLock.ts", `import * as http from "node:http"`],
      ["packages/lock/src/ProcessLock.ts", `import type { HttpClient } from "effect/http/HttpClient"`],
      ["packages/lock/src/gate.ts", `const http = process.getBuiltinModule("node:http")`],
      ["packages/lock/src/gate.ts", `const answer = await fetch(url)`]
    ],
    holds: [
      ["packages/lock/src/gate.ts", `const fs = process.getBuiltinModule("node:fs")`],
      ["packages/client/src/internal/exchange.ts", `const http = process.getBuiltinModule("node:http")`]
    ]
  },
  "one-way": {
    breaks: [
      ["packages/lock/src/ProcessLock.ts", `import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"`],
      ["packages/lifecycle/src/Application.ts", `import { Discovery } from "@holdfast/client/Discovery"`],
      ["packages/client/src/promise.ts", `const kit = await import("@holdfast/testkit/Testkit")`],
      ["packages/client/src/promise.ts", `import { step } from "../../lock/src/step.ts"`]
    ],
    holds: [
      ["packages/testkit/src/Testkit.ts", `import { ServiceClient } from "@holdfast/client/ServiceClient"`],
      ["packages/client/src/promise.ts", `import { Discovery } from "./Discovery.ts"`],
      ["packages/lock/test/gate.test.ts", `import { Testkit } from "@holdfast/testkit/Testkit"`]
    ]
  },
  "client-wire-only": {
    breaks: [
      ["packages/client/src/Discovery.ts", `import { runDaemon } from "@holdfast/lifecycle/daemon"`],
      ["packages/client/src/Discovery.ts", `import type { Application } from "@holdfast/lifecycle/Application"`]
    ],
    holds: [
      ["packages/client/src/Discovery.ts", `import { titleOf } from "@holdfast/lifecycle/ServiceSpec"`],
      ["packages/testkit/src/Testkit.ts", `import * as Application from "@holdfast/lifecycle/Application"`]
    ]
  },
  "clock-is-a-service": {
    breaks: [
      ["packages/client/src/Transport.ts", `const now = Date.now()`],
      ["packages/client/src/Transport.ts", `const now = new Date()`],
      ["packages/client/src/Transport.ts", `globalThis.setTimeout(go, 10)`],
      ["packages/testkit/src/Testkit.ts", `setInterval(go, 10)`]
    ],
    holds: [
      ["packages/client/src/Transport.ts", `const now = yield_(Clock.currentTimeMillis)`],
      ["packages/client/src/Transport.ts", `const text = "Date.now()"`],
      ["packages/client/src/internal/follow.ts", `const now = Date.now()`],
      ["packages/lock/src/identity.ts", `const now = Date.now()`]
    ]
  },
  "tests-run": {
    breaks: [
      ["packages/lock/test/gate.test.ts", `it.only("a", f)`],
      ["packages/lock/test/gate.test.ts", `describe.skip("a", f)`],
      ["packages/lock/test/gate.test.ts", `it.todo("a")`],
      ["examples/minimal/test/a.test.ts", `it.live\n  .only.each([1])("a", f)`],
      ["examples/minimal/test/a.test.ts", `describe.each(all(1)).only("a", f)`]
    ],
    holds: [
      ["packages/lock/test/gate.test.ts", `it.skipIf(bun === undefined)("a", f)`],
      ["packages/lock/test/gate.test.ts", `it.skipIf(unless("fullDisk").skip)("a", f)`],
      ["packages/lock/test/gate.test.ts", `it("neither .only( nor .skip( in a text", f)`]
    ]
  },
  "tests-wait-for-facts": {
    breaks: [
      ["packages/lock/test/gate.test.ts", `const a = Effect.sleep("1 second")`],
      ["packages/lock/test/gate.test.ts", `setTimeout(go, 10)`],
      ["examples/minimal/test/a.test.ts", `import { setTimeout as sleep } from "node:timers/promises"`]
    ],
    holds: [
      ["packages/testkit/test/fixture/application.ts", `const boot = Effect.sleep("10 seconds")`],
      ["packages/lock/test/gate.test.ts", `const a = TestClock.adjust("1 second")`],
      ["packages/lock/test/gate.test.ts", `socket.setTimeout(10)`]
    ]
  }
}

/** What `oxlint` says about one file at this path, under the configuration of the repository. */
const oxlint = (file: string, text: string): string => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "lint-"))
  try {
    fs.copyFileSync(path.join(root, ".oxlintrc.json"), path.join(directory, ".oxlintrc.json"))
    fs.mkdirSync(path.join(directory, path.dirname(file)), { recursive: true })
    fs.writeFileSync(path.join(directory, file), text)
    const bin = path.join(root, "node_modules/oxlint/bin/oxlint")
    return spawnSync(process.execPath, [bin, "--format=unix"], { cwd: directory, encoding: "utf8" }).stdout
  } finally {
    fs.rmSync(directory, { recursive: true })
  }
}

describe("house rules", () => {
  for (const [rule, { breaks, holds }] of Object.entries(cases)) {
    it(`${rule} reports what breaks it and nothing that looks alike`, () => {
      for (const [file, text] of breaks) assert.include(reported(file, text), rule, text)
      for (const [file, text] of holds) assert.deepStrictEqual(reported(file, text), [], text)
    })
  }

  it("a finding names its line", () => {
    const [finding] = lint(new Map([["packages/lock/test/a.test.ts", "// one\n\nit.live\n  .only(f)\n"]]))
    assert.strictEqual(finding?.line, 3)
  })

  it("each rule has a case here, and says why it exists", () => {
    assert.deepStrictEqual(Object.keys(cases), Object.keys(rules))
    for (const { why } of Object.values(rules)) assert.isNotEmpty(why)
  })

  it("every module listed as free of Effect exists", () => {
    assert.deepStrictEqual(
      withoutEffect.filter((file) => !fs.existsSync(path.join(root, file))),
      []
    )
  })

  it("the tree holds them all", () => {
    const sources = sourcesOf(root)
    assert.isAbove(sources.size, 50)
    assert.deepStrictEqual(lint(sources), [])
  })

  it("a source file of more than 300 lines is reported, a test of that length is not", () => {
    const lines = "export {}\n".repeat(301)
    assert.include(oxlint("packages/lock/src/gate.ts", lines), "max-lines")
    assert.include(oxlint("examples/codesearch/src/Index.ts", lines), "max-lines")
    assert.notInclude(oxlint("packages/lock/test/gate.test.ts", lines), "max-lines")
  })
})
