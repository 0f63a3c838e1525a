import { assert, describe, it } from "@effect/vitest"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as Scenario from "@holdfast/testkit/Scenario"
import { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import { programOf } from "./fixture/programs.ts"
import { serviceOf } from "./fixture/service.ts"

/** The fixture as one version installs it. */
const versioned = (version: string): ServiceSpec => ({
  ...serviceOf({}),
  version,
  entry: { command: process.execPath, args: ["--conditions", "development", programOf("versionDaemon"), version] }
})

describe.concurrent("the scenario", () => {
  for (const { name, run, sentence, timeoutMs } of Scenario.all) {
    it.live(
      `${name}: ${sentence}`,
      () => run.pipe(Effect.provide(Testkit.layer(versioned("1.0.0"), { title: sentence, next: versioned("2.0.0") }))),
      timeoutMs
    )
  }

  it.live("about an update says what it needs, where there is no next version", () =>
    Effect.gen(function* () {
      const { run } = Scenario.all.find(({ needs }) => needs.includes("next"))!
      const { message } = yield* Effect.flip(run)
      assert.include(message, "Testkit.layer was not given the service's next version")
    }).pipe(Effect.provide(Testkit.layer(versioned("1.0.0"))))
  )
})
