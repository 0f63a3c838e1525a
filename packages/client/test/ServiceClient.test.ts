import { assert, describe, it } from "@effect/vitest"
import * as Application from "@holdfast/lifecycle/Application"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { type Access, ServiceClient } from "../src/ServiceClient.ts"
import { missing } from "../src/ServiceState.ts"
import { spec, temporary } from "./support.ts"

const client = (change: Partial<ServiceSpec>, access: Access = "launch") =>
  Effect.flatMap(Layer.build(ServiceClient.layer({ ...spec, ...change }, { access })), (context) =>
    Effect.provideContext(ServiceClient, context)
  )

interface Failure {
  readonly _tag: string
  readonly message: string
}

const bounded = <A, E>(effect: Effect.Effect<A, E>) => Effect.timeout(effect, "3 seconds")

describe("files that cannot be used are said by every call, and nothing is changed", () => {
  const cases: ReadonlyArray<[string, (directory: string) => Partial<ServiceSpec>, RegExp]> = [
    ["a channel with a bad name", () => ({ channel: "../x" }), /^The channel "\.\.\/x" is not a valid name\.$/],
    [
      "a file in place of the directory",
      (directory) => (fs.writeFileSync(path.join(directory, "file"), ""), { directory: path.join(directory, "file") }),
      /not a directory\.$/
    ],
    [
      "a directory that others may write to",
      (directory) => (fs.chmodSync(directory, 0o777), { directory }),
      /^Other users may write/
    ]
  ]
  for (const [name, prepare, sentence] of cases) {
    it.live(name, () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const service = yield* client(prepare(directory))
        const before = fs.readdirSync(directory)
        const calls: ReadonlyArray<Effect.Effect<unknown, Failure>> = [
          service.launch(),
          service.reconnect(),
          service.ensure()
        ]
        for (const call of calls) {
          const error = yield* Effect.flip(bounded(call))
          assert.strictEqual(error._tag, "DirectoryUnusable")
          assert.match(error.message, sentence)
        }
        for (const call of [service.stop(), service.restart()]) {
          const outcome = yield* bounded(call)
          assert.strictEqual(outcome._tag, "Refused")
          assert.match(outcome.sentence.split(". ")[0]! + ".", sentence)
        }
        assert.deepStrictEqual(yield* service.state, missing)
        assert.deepStrictEqual(yield* bounded(Stream.runCollect(Stream.take(service.changes, 1))), [missing])
        const error = yield* Effect.flip(bounded(service.http.get("/x")))
        assert.match((error as Error).message, sentence)
        assert.deepStrictEqual(fs.readdirSync(directory), before)
      })
    )
  }
})

describe("with nobody there", () => {
  it.live.each<[Access]>([["observe"], ["attach"]])(
    "a client that may only %s starts nothing and creates nothing",
    ([access]) =>
      Effect.gen(function* () {
        const directory = path.join(yield* temporary, "state")
        const service = yield* client({ directory }, access)
        assert.deepStrictEqual(yield* service.state, missing)
        assert.deepStrictEqual(yield* bounded(Stream.runCollect(Stream.take(service.changes, 1))), [missing])
        assert.deepStrictEqual(yield* bounded(service.stop()), {
          _tag: "NotRunning",
          sentence: "Hello is not running."
        })
        const before = performance.now()
        const error = yield* Effect.flip(bounded(service.ensure({ deadline: "200 millis" })))
        const took = performance.now() - before
        assert.isTrue(took >= 190 && took < 1500, `${took} ms`)
        assert.strictEqual(error._tag, "ServiceNotReady")
        assert.match((error as Error).message, /^Hello did not become ready: \S.*$/)
        assert.isFalse(fs.existsSync(directory))
      })
  )

  it.live("building the layer looks at nothing", () =>
    Effect.gen(function* () {
      const directory = path.join(yield* temporary, "state")
      yield* client({ directory })
      assert.isFalse(fs.existsSync(directory))
    })
  )
})

describe("in this process", () => {
  it.live("an application with continuity answers as any other, and neither hands over nor resumes", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const application = Application.make(
        HttpRouter.add("GET", "/hello", Effect.succeed(HttpServerResponse.text("hello")))
      ).pipe(
        Application.withContinuity({
          schema: Schema.String,
          snapshot: Effect.sync(() => (asked.push("snapshot"), "")),
          resume: () => Effect.sync(() => void asked.push("resume"))
        })
      )
      const response = yield* Effect.flatMap(ServiceClient, ({ http }) => http.get("/hello")).pipe(
        Effect.flatMap(({ text }) => text),
        Effect.provide(ServiceClient.layerInProcess(spec, application))
      )
      assert.deepStrictEqual([response, asked], ["hello", []])
    })
  )
})
