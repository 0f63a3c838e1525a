import { assert, describe, it } from "@effect/vitest"
import { Ownership } from "@holdfast/lock/Ownership"
import { paths as pathsOf } from "@holdfast/lock/ServicePaths"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as Application from "../src/Application.ts"
import { type Continued, judge, make, type Snapshot } from "../src/internal/continuity.ts"
import { ServiceInstance } from "../src/ServiceInstance.ts"
import { answer, silent } from "./owner.ts"
import { temporary } from "./support.ts"

const spec = { app: "hello", version: "1.2.3", entry: new URL("file:///daemon.ts") }
const snapshot: Snapshot = { schema: 1, epoch: 4, version: "1.2.3", offers: 0, value: [1] }
const text = (change: Partial<Snapshot> = {}) => JSON.stringify({ ...snapshot, ...change })
const reading = (text: string) => ({ _tag: "Text", text, mode: 0o600, uid: 0 }) as const

describe("what an owner does with a snapshot it finds", () => {
  it.each([
    ["none", { _tag: "Absent" } as const, "None"],
    ["one of the last owner", reading(text()), "Offer"],
    ["one of an owner long ago", reading(text({ epoch: 1 })), "Offer"],
    ["one that was offered once", reading(text({ offers: 1 })), "Offer"],
    ["one that was offered twice", reading(text({ offers: 2 })), "Aside"],
    ["one of its own epoch", reading(text({ epoch: 5 })), "Aside"],
    ["one of a later owner", reading(text({ epoch: 6 })), "Aside"],
    ["one of another schema", reading(text({ schema: 2 as 1 })), "Aside"],
    ["one without an epoch", reading(JSON.stringify({ ...snapshot, epoch: undefined })), "Aside"],
    ["one with half an epoch", reading(text({ epoch: 1.5 })), "Aside"],
    ["a list", reading("[]"), "Aside"],
    ["what is no JSON", reading("{ garb"), "Aside"],
    ["an empty file", reading(""), "Aside"],
    ["what it may not read", { _tag: "Unreadable", code: "EACCES" } as const, "Aside"]
  ] as const)("%s", (_, found, verdict) => {
    assert.strictEqual(judge(found, 5)._tag, verdict)
  })
})

/** Owner number 5, which may have been superseded. */
const ownership = (owns: boolean) =>
  Effect.provide(Ownership, Ownership.layerMemory).pipe(
    Effect.map((memory) => Ownership.of({ ...memory, epoch: 5, assert: Effect.succeed(owns) }))
  )
const continued: Continued = { snapshot: Effect.succeed([1]), resume: () => Effect.succeed(Effect.void) }

const place = (owns: boolean, mayWrite = true) =>
  Effect.gen(function* () {
    const paths = pathsOf({ ...spec, directory: yield* temporary })
    const handOver = make(yield* ownership(owns), { spec, paths }, () => mayWrite)
    return { handOver, file: paths.continuity, files: () => fs.readdirSync(paths.directory) }
  })

describe("handing over", () => {
  it.effect("an owner that is not ready, was superseded, or is past its deadline leaves nothing", () =>
    Effect.gen(function* () {
      const early = yield* place(true)
      yield* early.handOver.leave
      assert.deepStrictEqual(early.files(), [])
      for (const [owns, mayWrite, left] of [
        [false, true, []],
        [true, false, []],
        [true, true, ["service.continuity.json"]]
      ] as ReadonlyArray<readonly [boolean, boolean, Array<string>]>) {
        const { files, handOver } = yield* place(owns, mayWrite)
        yield* yield* handOver.take(continued)
        yield* handOver.leave
        assert.deepStrictEqual(files(), left)
      }
    }).pipe(Effect.provide(silent))
  )

  it.effect("an owner that was superseded takes nothing, counts nothing and moves nothing", () =>
    Effect.gen(function* () {
      for (const found of [text(), text({ epoch: 9 }), "garbage"]) {
        const { file, files, handOver } = yield* place(false)
        fs.writeFileSync(file, found)
        yield* yield* handOver.take({ ...continued, resume: () => Effect.die("not asked") })
        assert.deepStrictEqual(files(), ["service.continuity.json"])
        assert.strictEqual(fs.readFileSync(file, "utf8"), found)
      }
    }).pipe(Effect.provide(silent))
  )

  it.effect("what another owner has written meanwhile is not removed after ready", () =>
    Effect.gen(function* () {
      const { file, handOver } = yield* place(true)
      fs.writeFileSync(file, text())
      const taken = yield* handOver.take(continued)
      assert.strictEqual(JSON.parse(fs.readFileSync(file, "utf8")).offers, 1)
      fs.writeFileSync(file, text({ epoch: 6 }))
      yield* taken
      assert.strictEqual(fs.readFileSync(file, "utf8"), text({ epoch: 6 }))
    }).pipe(Effect.provide(silent))
  )

  it.effect("an offer that cannot be counted is not made, and does not hold up the start", () =>
    Effect.gen(function* () {
      const { file, handOver } = yield* place(true)
      fs.writeFileSync(file, text())
      let offered = false
      const resume = () => Effect.sync(() => void (offered = true))
      const taken = yield* handOver.take({
        ...continued,
        resume: () => Effect.sync(() => (fs.rmSync(file), fs.mkdirSync(file), resume()))
      })
      yield* taken
      assert.isFalse(offered)
    }).pipe(Effect.provide(silent))
  )
})

class Store extends Context.Service<Store, { readonly since: Date }>()("test/Store") {}

describe("an application with continuity", () => {
  const instance = ServiceInstance.of({
    spec,
    paths: pathsOf({ ...spec, directory: "/s" }),
    instanceID: "the-instance",
    epoch: 1,
    progress: () => Effect.void,
    stop: Effect.void
  })
  const hello = Application.make(HttpRouter.add("GET", "/", answer("hello")))
  const since = new Date(1_700_000_000_000)
  let given: Date | undefined
  const handingOver = Application.withContinuity({
    schema: Schema.Struct({ since: Schema.Date }),
    snapshot: Effect.map(Store, ({ since }) => ({ since })),
    resume: ({ since }) =>
      Effect.andThen(
        Store,
        Effect.sync(() => void (given = since))
      )
  })
  const store = Application.provide(Layer.succeed(Store, { since }))
  const start = (application: Application.Application) =>
    Effect.provide(application.start(instance), Ownership.layerMemory)

  for (const [order, application] of [
    ["after", hello.pipe(handingOver, store)],
    ["before", hello.pipe(store, handingOver)]
  ] as const) {
    it.effect(`uses services that are provided ${order} it; what it hands over is JSON and comes back as it was`, () =>
      Effect.gen(function* () {
        const { continuity } = yield* start(application)
        const value = JSON.parse(JSON.stringify(yield* continuity!.snapshot)) as unknown
        assert.deepStrictEqual(value, { since: since.toISOString() })
        given = undefined
        yield* yield* continuity!.resume(value)
        assert.deepStrictEqual(given, since)
        assert.strictEqual((yield* Effect.exit(continuity!.resume({ since: 1 })))._tag, "Failure")
      })
    )
  }

  it.effect("has one: a second one fails the boot with what to do", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(start(hello.pipe(handingOver, handingOver, store)))
      assert.deepInclude(error, {
        _tag: "BootFailed",
        message: "The application hands over twice.",
        action: "Join both withContinuity into one, with Schema.Struct."
      })
    })
  )
})
