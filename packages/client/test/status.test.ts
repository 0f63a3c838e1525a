import { assert, describe, it } from "@effect/vitest"
import { codeOf } from "../src/internal/statusCode.ts"
import { type Around, sentenceOf } from "../src/internal/statusCommand.ts"
import { ServiceState } from "../src/ServiceState.ts"
import { healthOf, note, registration, spec } from "./support.ts"

const nobody: Around = { look: { _tag: "Missing", holder: undefined }, holder: { _tag: "Nobody" }, changed: false }
const registered = (owner: "alive" | "dead" | "unknown"): Around => ({
  look: { _tag: "Registered", registration, owner, note, secret: undefined },
  holder: owner === "dead" ? { _tag: "Nobody" } : { _tag: owner === "alive" ? "Here" : "Unknown", note },
  changed: false
})
const answers = (status: Parameters<typeof healthOf>[0], version?: string): ServiceState => ({
  status,
  registration,
  health: healthOf(status, version)
})
const missing: ServiceState = { status: { type: "missing" }, registration: null, health: null }
const silent: ServiceState = { status: { type: "unreachable" }, registration, health: null }

describe("service status", () => {
  it.each<[ServiceState, Around, number, string]>([
    [answers({ type: "ready" }), registered("alive"), 0, "Hello v1.0.0 is ready (PID 7)."],
    [
      answers({ type: "ready" }, "2.0.0"),
      registered("alive"),
      0,
      "Hello v2.0.0 is ready (PID 7); this program is v1.0.0."
    ],
    [
      answers({ type: "ready" }),
      { ...registered("alive"), changed: true },
      0,
      "Hello v1.0.0 is ready (PID 7); its program was changed since."
    ],
    [answers({ type: "starting" }), registered("alive"), 5, "Starting Hello v1.0.0… (PID 7)"],
    [
      answers({ type: "starting" }, "2.0.0"),
      registered("alive"),
      5,
      "Starting Hello v2.0.0… (PID 7) It is v2.0.0; this program is v1.0.0."
    ],
    [
      answers({ type: "stopping", targetVersion: "2.0.0" }),
      registered("alive"),
      6,
      "Hello v1.0.0 is stopping (PID 7)."
    ],
    [
      answers({ type: "failed", message: "No index.", action: "Run: index" }),
      registered("alive"),
      7,
      "No index. (PID 7) Run: index"
    ],
    [missing, nobody, 3, "Hello is not running."],
    [silent, registered("dead"), 3, "Hello is not running. It ended without being stopped."],
    [silent, registered("alive"), 4, "Hello does not answer. If it stays so, run `hello service restart`."],
    [silent, registered("unknown"), 4, "Hello does not answer, and whether it runs (PID 7) cannot be told from here."],
    [
      silent,
      { ...registered("unknown"), holder: { _tag: "Nobody" } },
      4,
      "Hello does not answer. If it stays so, run `hello service restart`."
    ],
    [
      { ...silent, status: { type: "unreachable", protocol: "other" } },
      registered("alive"),
      4,
      "Hello v1.0.0 runs (PID 7) and speaks another protocol than this program. Run `hello service restart` to replace it."
    ],
    [
      silent,
      { ...registered("unknown"), holder: { _tag: "Elsewhere", host: "castle", note } },
      4,
      "Hello runs on host castle, or did; that cannot be told from here."
    ],
    [
      missing,
      { ...nobody, holder: { _tag: "Unknown", note } },
      4,
      "Hello may run (PID 7), in another container or as another user; that cannot be told from here."
    ]
  ])("%j", (state, around, code, sentence) => {
    assert.strictEqual(codeOf(state, around), code)
    assert.strictEqual(sentenceOf(state, spec, around), sentence)
  })

  it.prop(
    "every state there can be has one line and a code, and 0 means that it is ready",
    [ServiceState],
    ([state]) => {
      for (const around of [nobody, registered("alive"), registered("dead"), registered("unknown")]) {
        const sentence = sentenceOf(state, spec, around)
        assert.isNotEmpty(sentence.trim())
        assert.notMatch(sentence, /[\p{Cc}\u2028\u2029]/u)
        assert.strictEqual(codeOf(state, around) === 0, state.status.type === "ready")
        assert.include([0, 3, 4, 5, 6, 7], codeOf(state, around))
      }
    },
    { arbitrary: { runs: 300 } }
  )
})
