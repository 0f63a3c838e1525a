import { assert, describe, it } from "@effect/vitest"
import { InvalidKey } from "@holdfast/lock/ServicePaths"
import { define, type ServiceSpec, titleOf } from "../src/ServiceSpec.ts"

const good: ServiceSpec = { app: "hello", version: "1.0.0", entry: new URL("file:///daemon.ts") }

const refusal = (spec: ServiceSpec): InvalidKey => {
  try {
    define(spec)
  } catch (error) {
    if (error instanceof InvalidKey) return error
    throw error
  }
  throw new Error("it was not refused")
}

describe("a spec", () => {
  it.each<[string, Partial<ServiceSpec>]>([
    ["an application with a slash", { app: "../x" }],
    ["an empty application", { app: "" }],
    ["a channel with a dash", { channel: "pre-view" }],
    ["a profile that climbs", { profile: "../x" }],
    ["no version", { version: "" }],
    ["a version of spaces", { version: "  " }],
    ["a version of two lines", { version: "1\n2" }],
    ["a version with a carriage return", { version: "1\r" }],
    ["an empty title", { title: "" }],
    ["a title of two lines", { title: "Hello\nworld" }],
    ["a negative port", { listen: { port: -1 } }],
    ["a port above 65535", { listen: { port: 65_536 } }],
    ["a fraction of a port", { listen: { port: 80.5 } }],
    ["no number as a port", { listen: { port: Number.NaN } }],
    ["neither port nor socket", { listen: {} as { port: number } }],
    ["a socket that is none", { listen: { socket: false as true } }],
    ["a socket's path", { listen: { socket: "/tmp/x" as unknown as true } }],
    ["both a port and a socket", { listen: { port: 1, socket: true } }],
    ["an environment with a value in it", { environment: ["A=1"] }],
    ["an environment with an empty name", { environment: ["OK", ""] }],
    ["an environment with a pattern", { environment: ["A*"] }],
    ["no length of time to idle", { idleExit: "soon" as never }],
    ["a time to idle in an unknown unit", { idleExit: "5 moons" as never }],
    ["an inherited property as the unit", { idleExit: "5 constructor" as never }],
    ["a time to idle without end", { idleExit: Number.POSITIVE_INFINITY }],
    ["no number to idle", { idleExit: Number.NaN }],
    ["no time to idle", { idleExit: 0 }],
    ["a negative time to idle", { idleExit: "-5 minutes" }],
    ["less than a second to idle", { idleExit: "999 millis" }],
    ["null as the time to idle", { idleExit: null as never }],
    ["NODE_OPTIONS", { environment: ["NODE_OPTIONS"] }],
    ["NODE_OPTIONS as Windows reads it", { environment: ["Node_Options"] }]
  ])("with %s is refused with one sentence and a thing to do", (_, change) => {
    const error = refusal({ ...good, ...change })
    assert.match(error.message, /^["A-Z][^\n]*\.$/)
    assert.match(error.action, /^[A-Z][^\n]*\.$/)
  })

  it.each<[string, Partial<ServiceSpec>]>([
    ["the least", {}],
    [
      "everything",
      {
        title: "Hello World",
        channel: "preview",
        profile: "work",
        directory: "/s",
        environment: ["A", "_b9"],
        listen: { port: 8080 }
      }
    ],
    ["a second to idle", { idleExit: 1000 }],
    ["five minutes to idle", { idleExit: "5 minutes" }],
    ["an hour and a half to idle", { idleExit: "1.5 hours" }],
    ["no end by itself", { idleExit: "never" }],
    ["a port of the system's choice", { listen: { port: 0 } }],
    ["the highest port", { listen: { port: 65_535 } }],
    ["a socket", { listen: { socket: true } }],
    ["a command as its entry", { entry: { command: "hello", args: ["serve"] } }],
    ["any text as its version", { version: "2026-11-29 (dev)" }]
  ])("with %s is answered as it is, the same object", (_, change) => {
    const spec = { ...good, ...change }
    assert.strictEqual(define(spec), spec)
  })

  it("people read its title, or else its name", () => {
    assert.strictEqual(titleOf(good), "hello")
    assert.strictEqual(titleOf({ ...good, title: "Hello World" }), "Hello World")
  })
})
