import { assert, describe, it } from "@effect/vitest"
import { enter } from "@holdfast/lock/gate"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as fs from "node:fs"
import * as net from "node:net"
import * as Application from "../src/Application.ts"
import * as Credential from "../src/Credential.ts"
import { ServiceInstance } from "../src/ServiceInstance.ts"
import { answer, attach, hello, is, moduleOf, own, type Owner, registered } from "./owner.ts"
import { ask, until } from "./support.ts"

describe("what others do to its files", () => {
  const damages: ReadonlyArray<[string, "registration" | "secret", (file: string) => void]> = [
    ["the registration is deleted", "registration", (file) => fs.rmSync(file)],
    ["the registration is garbage", "registration", (file) => fs.writeFileSync(file, "{ half")],
    ["the registration is empty", "registration", (file) => fs.writeFileSync(file, "")],
    [
      "the registration names another",
      "registration",
      (file) =>
        fs.writeFileSync(
          file,
          JSON.stringify({ schema: 1, instanceID: "other", version: "9", url: "http://127.0.0.1:9", pid: 1 })
        )
    ],
    [
      "the registration is a dangling link",
      "registration",
      (file) => (fs.rmSync(file), fs.symlinkSync("nowhere", file))
    ],
    ["the secret is deleted", "secret", (file) => fs.rmSync(file)],
    ["the secret is another", "secret", (file) => fs.writeFileSync(file, Credential.random())]
  ]
  it.effect.each(damages)("%s: put back within five seconds, as it was", ([, which, damage]) =>
    Effect.gen(function* () {
      const owner = yield* own(moduleOf(hello))
      yield* is(owner, "ready")
      const file = owner.paths[which]
      const before = fs.readFileSync(file, "utf8")
      damage(file)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(fs.readFileSync(file, "utf8"), before)
      assert.strictEqual(fs.lstatSync(file).mode & 0o777, 0o600)
      assert.strictEqual((yield* attach(owner)).health.status.type, "ready", "clients come in again")
    })
  )

  it.live("the same on the real clock", () =>
    Effect.gen(function* () {
      const owner = yield* own(moduleOf(hello))
      yield* is(owner, "ready")
      const before = fs.readFileSync(owner.paths.registration, "utf8")
      fs.rmSync(owner.paths.registration)
      yield* until("the registration is back", () => fs.existsSync(owner.paths.registration), 7000)
      assert.strictEqual(fs.readFileSync(owner.paths.registration, "utf8"), before)
    })
  )

  it.effect("nothing: then nothing is written", () =>
    Effect.gen(function* () {
      const owner = yield* own(moduleOf(hello))
      const before = fs.statSync(owner.paths.registration)
      yield* TestClock.adjust("1 minute")
      const after = fs.statSync(owner.paths.registration)
      assert.deepStrictEqual([after.ino, after.mtimeMs], [before.ino, before.mtimeMs])
    })
  )

  it.effect("what cannot be put back now is tried again, and the service goes on", () =>
    Effect.gen(function* () {
      const owner = yield* own(moduleOf(hello))
      yield* is(owner, "ready")
      const client = yield* attach(owner)
      fs.rmSync(owner.paths.registration)
      fs.mkdirSync(owner.paths.registration)
      yield* TestClock.adjust("11 seconds")
      assert.strictEqual((yield* client.get("/hello")).body, "hello")
      fs.rmdirSync(owner.paths.registration)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(registered(owner)?.url, owner.service.url)
    })
  )
})

describe("the end", () => {
  it.live(
    "of the scope removes the registration, closes the port and frees the lock; the lock file and the secret stay",
    () =>
      Effect.gen(function* () {
        const owner = yield* own(moduleOf(hello))
        yield* is(owner, "ready")
        yield* owner.close
        assert.isFalse(fs.existsSync(owner.paths.registration))
        assert.isTrue(fs.existsSync(owner.paths.lock) && fs.existsSync(owner.paths.secret))
        const code = yield* Effect.callback<string | undefined>((resume) => {
          const socket = net.connect(owner.port, "127.0.0.1", () => resume(Effect.succeed("connected")))
          socket.on("error", (error: NodeJS.ErrnoException) => resume(Effect.succeed(error.code)))
        })
        assert.strictEqual(code, "ECONNREFUSED")
        assert.strictEqual((yield* Effect.promise(() => enter(owner.paths.lock, { retryForMs: 0 })))._tag, "Acquired")
      })
  )

  it.live.each<[string, string | undefined]>([
    [
      "another owner's",
      JSON.stringify({ schema: 1, instanceID: "successor", version: "2", url: "http://127.0.0.1:9", pid: 1 })
    ],
    ["garbage", "{ half"],
    ["gone already", undefined]
  ])("of the scope leaves a registration that is %s as it is", ([, text]) =>
    Effect.gen(function* () {
      const owner = yield* own(moduleOf(hello))
      yield* is(owner, "ready")
      if (text === undefined) fs.rmSync(owner.paths.registration)
      else fs.writeFileSync(owner.paths.registration, text)
      yield* owner.close
      assert.strictEqual(
        fs.existsSync(owner.paths.registration) ? fs.readFileSync(owner.paths.registration, "utf8") : undefined,
        text
      )
    })
  )

  it.live("comes when it is asked for: by the program, by the application, by a client; once, and heard by all", () =>
    Effect.gen(function* () {
      const routes = HttpRouter.add(
        "POST",
        "/leave",
        Effect.flatMap(ServiceInstance, ({ stop }) => Effect.as(stop, HttpServerResponse.text("bye")))
      )
      const ways: ReadonlyArray<(owner: Owner) => Effect.Effect<unknown>> = [
        (owner) =>
          Effect.all([owner.service.stop({ targetVersion: "2.0.0" }), owner.service.stop(), owner.service.stop()], {
            concurrency: "unbounded"
          }),
        (owner) =>
          Effect.flatMap(attach(owner), ({ headers }) => ask(owner, { method: "POST", target: "/leave", headers })),
        (owner) =>
          Effect.flatMap(attach(owner), ({ headers }) =>
            ask(owner, {
              method: "POST",
              target: "/service/stop",
              headers,
              body: JSON.stringify({ instanceID: registered(owner)!.instanceID })
            })
          )
      ]
      for (const way of ways) {
        const owner = yield* own(moduleOf(Application.make(routes)))
        yield* is(owner, "ready")
        yield* way(owner)
        yield* owner.service.stopped.pipe(Effect.timeout("3 seconds"))
        assert.strictEqual(owner.status()?.type, "stopping")
        assert.isFalse(fs.existsSync(owner.paths.registration))
        yield* owner.service.stop().pipe(Effect.timeout("1 second"))
      }
    })
  )

  it.live(
    "lets a request in flight finish, refuses new ones, and closes the application before the registration goes",
    () =>
      Effect.gen(function* () {
        const [arrived, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const log: Array<string> = []
        const slow = HttpRouter.add(
          "GET",
          "/slow",
          Deferred.succeed(arrived, undefined).pipe(Effect.andThen(Deferred.await(go)), Effect.andThen(answer("done")))
        )
        const closing = Layer.effectDiscard(
          Effect.flatMap(ServiceInstance, ({ paths }) =>
            Effect.addFinalizer(() =>
              Effect.sync(() => void log.push(fs.existsSync(paths.registration) ? "registered" : "gone"))
            )
          )
        )
        const owner = yield* own(moduleOf(Application.make(Layer.merge(slow, closing))))
        yield* is(owner, "ready")
        const client = yield* attach(owner)
        const response = yield* Effect.forkChild(client.get("/slow"))
        yield* Deferred.await(arrived)
        const stopping = yield* Effect.forkChild(owner.service.stop())
        yield* is(owner, "stopping")
        assert.strictEqual((yield* client.get("/slow")).status, 503)
        assert.deepStrictEqual(log, [], "the application is open while it works")
        yield* Deferred.succeed(go, undefined)
        assert.deepInclude(yield* Fiber.join(response), { status: 200, body: "done" })
        yield* Fiber.join(stopping)
        assert.deepStrictEqual(log, ["registered"])
      })
  )

  it.live("cuts off a request that hangs, and an application that does not close, at the deadline of one second", () =>
    Effect.gen(function* () {
      const arrived = yield* Deferred.make<void>()
      const hangs = HttpRouter.add("GET", "/hangs", Effect.andThen(Deferred.succeed(arrived, undefined), Effect.never))
      const stuck = Layer.effectDiscard(Effect.addFinalizer(() => Effect.never))
      const owner = yield* own(moduleOf(Application.make(Layer.merge(hangs, stuck))))
      yield* is(owner, "ready")
      const client = yield* attach(owner)
      yield* Effect.forkChild(client.get("/hangs"))
      yield* Deferred.await(arrived)
      const before = performance.now()
      yield* owner.service.stop().pipe(Effect.timeout("3 seconds"))
      const took = performance.now() - before
      assert.isTrue(took >= 950 && took < 2000, `${took} ms`)
      assert.isFalse(fs.existsSync(owner.paths.registration))
    })
  )

  it.live("leaves no request with an empty answer: one that is cut off loses its connection", () =>
    Effect.gen(function* () {
      const arrived = yield* Deferred.make<void>()
      const hangs = HttpRouter.add("GET", "/hangs", Effect.andThen(Deferred.succeed(arrived, undefined), Effect.never))
      const owner = yield* own(moduleOf(Application.make(hangs)))
      yield* is(owner, "ready")
      const client = yield* attach(owner)
      const asking = yield* Effect.forkChild(client.get("/hangs"))
      yield* Deferred.await(arrived)
      yield* owner.service.stop().pipe(Effect.timeout("3 seconds"))
      assert.isNaN((yield* Fiber.join(asking)).status)
    })
  )

  it.live("of a boot that is still going on interrupts it and closes what it opened", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const booting = Layer.effectDiscard(
        Effect.acquireRelease(
          Effect.sync(() => void log.push("open")),
          () => Effect.sync(() => void log.push("close"))
        ).pipe(Effect.andThen(Effect.never))
      )
      const owner = yield* own(moduleOf(Application.make(booting)))
      yield* until("it boots", () => log.length === 1)
      yield* owner.service.stop().pipe(Effect.timeout("1 second"))
      assert.deepStrictEqual(log, ["open", "close"])
      assert.strictEqual(owner.status()?.type, "stopping")
    })
  )
})
