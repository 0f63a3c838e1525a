import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { ServiceState } from "../src/ServiceState.ts"
import * as StatusText from "../src/StatusText.ts"
import { healthOf, registration, spec } from "./support.ts"

const of = (status: ServiceState["status"], version?: string): ServiceState => {
  const known =
    status.type === "starting" || status.type === "ready" || status.type === "stopping" || status.type === "failed"
  return {
    status,
    registration: version === undefined ? null : { ...registration, version },
    health: known && version !== undefined ? healthOf(status, version) : null
  }
}

describe("the words of DESIGN §9", () => {
  it.each<[ServiceState, string, string | undefined, boolean]>([
    [of({ type: "missing" }), "Starting background service…", undefined, false],
    [of({ type: "unreachable" }, "1.0.0"), "Waiting for background service…", undefined, false],
    [
      of({ type: "unreachable", protocol: "other" }, "0.9.0"),
      "Hello v0.9.0 runs (PID 7) and speaks another protocol than this program.",
      "Run `hello service restart` to replace it.",
      false
    ],
    [
      of({ type: "unresponsive" }, "1.0.0"),
      "The background service owns the service lock but is not responding.",
      "Run `hello service restart` to recover it.",
      false
    ],
    [of({ type: "starting" }, "2.1.0"), "Starting Hello v2.1.0…", undefined, false],
    [
      of({ type: "starting", progress: "Indexing 3 of 10" }, "2.1.0"),
      "Starting Hello v2.1.0… Indexing 3 of 10",
      undefined,
      false
    ],
    [of({ type: "starting" }), "Starting Hello v1.0.0…", undefined, false],
    [of({ type: "stopping", targetVersion: "2.0.0" }, "1.0.0"), "Updating to v2.0.0…", undefined, false],
    [of({ type: "stopping" }, "1.0.0"), "Waiting for background service…", undefined, false],
    [
      of({ type: "failed", message: "There is no index.", action: "Run: index" }, "1.0.0"),
      "There is no index.",
      "Run: index",
      false
    ],
    [of({ type: "ready" }, "2.1.0"), "Hello v2.1.0 is ready.", undefined, true]
  ])("%j", (state, text, action, usable) => {
    assert.deepStrictEqual(StatusText.line(state, spec), { text, action, usable })
  })

  it("without a title the name is used", () => {
    const { title: _, ...untitled } = spec
    assert.strictEqual(StatusText.line(of({ type: "ready" }, "1.0.0"), untitled).text, "hello v1.0.0 is ready.")
  })

  it("the version is the running service's own, then the registered one, then ours", () => {
    const state: ServiceState = {
      status: { type: "starting" },
      registration: { ...registration, version: "2" },
      health: healthOf({ type: "starting" }, "3")
    }
    assert.include(StatusText.line(state, spec).text, "v3…")
    assert.include(StatusText.line({ ...state, health: null }, spec).text, "v2…")
    assert.include(StatusText.line({ ...state, health: null, registration: null }, spec).text, "v1.0.0…")
  })

  it("a failure without words still says that there is one", () => {
    const { text } = StatusText.line(of({ type: "failed", message: "\n\u0000", action: "Run: index" }, "1.0.0"), spec)
    assert.strictEqual(text, "Hello could not start.")
  })

  it("progress that the application left empty adds nothing", () => {
    assert.strictEqual(
      StatusText.line(of({ type: "starting", progress: "" }, "1.0.0"), spec).text,
      "Starting Hello v1.0.0…"
    )
  })

  it.prop(
    "every state there can be has its line; only a ready service is usable; what fails or hangs has an action",
    [ServiceState],
    ([state]) => {
      const line = StatusText.line(state, spec)
      assert.isNotEmpty(line.text.trim())
      assert.notMatch(line.text + (line.action ?? ""), /[\p{Cc}\u2028\u2029]/u)
      assert.strictEqual(line.usable, state.status.type === "ready")
      assert.strictEqual(
        line.action !== undefined,
        state.status.type === "failed" ||
          state.status.type === "unresponsive" ||
          (state.status.type === "unreachable" && state.status.protocol === "other")
      )
      assert.isTrue(Schema.is(ServiceState)(state))
    },
    { arbitrary: { runs: 500 } }
  )

  it.each<[string, ServiceState["status"]]>([
    ["progress", { type: "starting", progress: "one\ntwo\r\u001b[2Jthree" }],
    ["a failure's message", { type: "failed", message: "one\ntwo", action: "Run: index" }],
    ["a failure's action", { type: "failed", message: "one", action: "Run:\nindex\u001b[31m" }],
    ["a version", { type: "stopping", targetVersion: "2.0.0\n" }]
  ])("%s of several lines stays one line, without control characters", (_, status) => {
    const { action, text } = StatusText.line(of(status, "1.0.0"), spec)
    assert.notMatch(text, /\p{Cc}/u)
    assert.notMatch(action ?? "", /\p{Cc}/u)
  })
})
