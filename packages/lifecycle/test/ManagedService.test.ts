import { assert, describe, it } from "@effect/vitest"
import { enter } from "@holdfast/lock/gate"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import type { paths as pathsOf } from "@holdfast/lock/ServicePaths"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import * as Application from "../src/Application.ts"
import { BootFailed } from "../src/BootFailed.ts"
import * as Credential from "../src/Credential.ts"
import { ServiceInstance } from "../src/ServiceInstance.ts"
import { type ApplicationModule, ManagedService } from "../src/ManagedService.ts"
import type { ServiceSpec } from "../src/ServiceSpec.ts"
import { answer, attach, hello, is, moduleOf, own, place, registered, owning } from "./owner.ts"
import { ask, until } from "./support.ts"

describe("from starting to ready", () => {
  it.live("clients see starting before the application is imported, then its progress, then ready, once", () =>
    Effect.gen(function* () {
      const imported = yield* Deferred.make<void>()
      const boots: Array<string> = []
      const go = yield* Deferred.make<void>()
      const routes = HttpRouter.use((router) =>
        Effect.gen(function* () {
          const { instanceID, progress } = yield* ServiceInstance
          boots.push(instanceID)
          yield* progress("Reading the index…")
          yield* Deferred.await(go)
          yield* router.add(
            "GET",
            "/hello",
            Effect.flatMap(ServiceInstance, (service) =>
              Effect.as(service.progress("late"), HttpServerResponse.text("hello"))
            )
          )
        })
      )
      const owner = yield* own(() =>
        Effect.runPromise(Effect.as(Deferred.await(imported), { default: Application.make(routes) }))
      )
      const registration = registered(owner)!
      assert.deepStrictEqual(
        { ...registration, instanceID: "" },
        { schema: 1, instanceID: "", version: "1.2.3", url: owner.service.url, pid: process.pid }
      )
      const client = yield* attach(owner)
      assert.deepStrictEqual(client.health.status, { type: "starting" })
      assert.strictEqual((yield* client.get("/hello")).status, 503)
      assert.deepStrictEqual(boots, [])
      yield* Deferred.succeed(imported, undefined)
      yield* until(
        "the progress is shown",
        () => JSON.stringify(owner.status()) === JSON.stringify({ type: "starting", progress: "Reading the index…" })
      )
      yield* Deferred.succeed(go, undefined)
      yield* is(owner, "ready")
      assert.deepInclude(yield* client.get("/hello"), { status: 200, body: "hello" })
      assert.deepStrictEqual(owner.status(), { type: "ready" }, "progress after the boot is not shown")
      assert.deepStrictEqual(boots, [registration.instanceID])
    })
  )

  it.live("the files are private, and the note names this process and this lock", () =>
    Effect.gen(function* () {
      const owner = yield* own(moduleOf(hello))
      for (const file of [owner.paths.registration, owner.paths.secret, owner.paths.owner, owner.paths.lock]) {
        assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600, file)
      }
      assert.deepInclude(OwnerNote.read(owner.paths.owner), {
        pid: process.pid,
        instanceID: registered(owner)!.instanceID,
        lockInode: OwnerNote.inodeOf(owner.paths.lock)!
      })
    })
  )

  it.live("the application does not see the token, and its own headers are untouched", () =>
    Effect.gen(function* () {
      const routes = HttpRouter.add(
        "GET",
        "/headers",
        Effect.map(HttpServerRequest, ({ headers }) => HttpServerResponse.text(JSON.stringify(Object.entries(headers))))
      )
      const owner = yield* own(moduleOf(Application.make(routes)))
      yield* is(owner, "ready")
      const { headers } = yield* attach(owner)
      const { body } = yield* ask(owner, { target: "/headers", headers: { ...headers, authorization: "Bearer mine" } })
      assert.include(body, "Bearer mine")
      assert.notInclude(body, Credential.tokenHeader)
    })
  )

  it.live("a second owner of the same lock is refused, also in this process, and the first goes on", () =>
    Effect.gen(function* () {
      const owner = yield* own(moduleOf(hello))
      yield* is(owner, "ready")
      const before = fs.readFileSync(owner.paths.registration, "utf8")
      const second = ManagedService.layer(owner.spec, moduleOf(hello)).pipe(
        Layer.provide(Layer.fresh(owning(owner.paths.lock))),
        Layer.fresh
      )
      const error = yield* Effect.flip(Effect.scoped(Layer.build(second)))
      assert.strictEqual(error._tag, "LockHeld")
      assert.strictEqual(fs.readFileSync(owner.paths.registration, "utf8"), before)
      assert.strictEqual((yield* (yield* attach(owner)).get("/hello")).body, "hello")
    })
  )
})

describe("a boot that fails", () => {
  const words = { message: "There is no index.", action: "Run: index" }
  const generic = { message: "Hello could not start.", action: "Run `hello service logs`." }
  const secretive = new Error("a secret path /etc/shadow")
  const failing = (effect: Effect.Effect<never, BootFailed, any>) =>
    moduleOf(Application.make(Layer.effectDiscard(effect)) as Application.Application)
  const cases: ReadonlyArray<[string, ApplicationModule, { readonly message: string; readonly action: string }]> = [
    ["in its own words", failing(Effect.fail(new BootFailed(words))), words],
    ["in its own words, thrown as a defect", failing(Effect.die(new BootFailed(words))), words],
    ["with a defect", failing(Effect.die(secretive)), generic],
    [
      "with something thrown",
      moduleOf(
        Application.make(
          Layer.effectDiscard(
            Effect.sync(() => {
              throw secretive
            })
          )
        )
      ),
      generic
    ],
    ["with an application that cannot be imported", () => Promise.reject(secretive), generic],
    [
      "with an import that throws at once",
      () => {
        throw secretive
      },
      generic
    ],
    ["with a module that exports nothing", () => Promise.resolve({} as never), generic],
    [
      "with a route that is reserved",
      moduleOf(Application.make(HttpRouter.add("GET", "/service/x", answer("")))),
      { message: "The path /service/x is reserved for the service itself.", action: "Rename the application's route." }
    ]
  ]
  it.live.each(cases)("%s is shown as failed, without a stack, and is not repeated", ([, application, expected]) =>
    Effect.gen(function* () {
      let imports = 0
      const owner = yield* own(() => (imports++, application()))
      yield* is(owner, "failed")
      assert.deepStrictEqual(owner.status(), { type: "failed", ...expected })
      const client = yield* attach(owner)
      assert.deepStrictEqual(client.health.status, { type: "failed", ...expected })
      const refused = yield* client.get("/hello")
      assert.strictEqual(refused.status, 503)
      assert.deepStrictEqual(JSON.parse(refused.body), { code: "service_failed", ...expected })
      assert.notInclude(JSON.stringify([client.health, refused]), "shadow")
      assert.strictEqual(imports, 1)
    })
  )

  it.live("closes what it had opened, and keeps the lock, the port and the registration", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const opened = Layer.effectDiscard(
        Effect.acquireRelease(
          Effect.sync(() => void log.push("open")),
          () => Effect.sync(() => void log.push("close"))
        )
      )
      // the services are complete when the routes fail
      const failing = Application.make(Layer.effectDiscard(Effect.fail(new BootFailed(words))))
      const owner = yield* own(moduleOf(failing.pipe(Application.provide(opened))))
      yield* is(owner, "failed")
      yield* until("it is closed", () => log.length === 2)
      assert.deepStrictEqual(log, ["open", "close"])
      assert.strictEqual(registered(owner)?.url, owner.service.url)
      assert.strictEqual((yield* Effect.promise(() => enter(owner.paths.lock, { retryForMs: 0 })))._tag, "Held")
      yield* owner.service.stop()
      assert.isFalse(fs.existsSync(owner.paths.registration))
    })
  )
})

describe("what keeps it from owning", () => {
  const refused = (change: Partial<ServiceSpec>, prepare: (paths: ReturnType<typeof pathsOf>) => void) =>
    Effect.gen(function* () {
      const { paths, spec } = yield* place
      prepare(paths)
      let imported = false
      const layer = ManagedService.layer(
        { ...spec, ...change },
        () => ((imported = true), Promise.resolve({ default: hello }))
      )
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Layer.provide(layer, owning(paths.lock)))))
      assert.isFalse(imported)
      assert.strictEqual(
        (yield* Effect.promise(() => enter(paths.lock, { retryForMs: 0 })))._tag,
        "Acquired",
        "the lock is free again"
      )
      assert.match(error.message, /^[A-Z][^\n]*\.$/)
      assert.notStrictEqual(error.action, "")
      return { error, paths }
    })

  it.live("a port that is another program's: nobody is stopped, and nothing is registered", () =>
    Effect.gen(function* () {
      const stranger = net.createServer()
      yield* Effect.callback<void>((resume) => void stranger.listen(0, "127.0.0.1", () => resume(Effect.void)))
      const { port } = stranger.address() as net.AddressInfo
      const { error, paths } = yield* refused({ listen: { port } }, () => undefined)
      assert.isTrue(stranger.listening)
      stranger.close()
      assert.deepInclude(error, { _tag: "PortTaken", port, message: `Port ${port} is in use by another program.` })
      assert.isFalse(fs.existsSync(paths.registration))
    })
  )

  it.live("a secret that others may read", () =>
    Effect.gen(function* () {
      const { error, paths } = yield* refused({}, ({ secret }) =>
        fs.writeFileSync(secret, Credential.random(), { mode: 0o644 })
      )
      assert.deepInclude(error, { _tag: "CredentialUnusable", path: paths.secret })
    })
  )

  it.live("a registration that cannot be written: then the port is free again, too", () =>
    Effect.gen(function* () {
      const free = yield* Effect.callback<number>((resume) => {
        const server = net.createServer().listen(0, "127.0.0.1", () => {
          const { port } = server.address() as net.AddressInfo
          server.close(() => resume(Effect.succeed(port)))
        })
      })
      const { error, paths } = yield* refused({ listen: { port: free } }, ({ registration }) =>
        fs.mkdirSync(registration)
      )
      assert.strictEqual(error._tag, "RegistrationFailed")
      assert.deepStrictEqual(
        fs.readdirSync(paths.directory).filter((name) => name.endsWith(".tmp")),
        []
      )
      const again = net.createServer()
      yield* Effect.callback<void>((resume) => void again.listen(free, "127.0.0.1", () => resume(Effect.void)))
      again.close()
    })
  )

  it.live("a lock that is for other files than its own", () =>
    Effect.gen(function* () {
      const { paths, spec } = yield* place
      const elsewhere = path.join(paths.directory, "elsewhere.lock")
      const exit = yield* Effect.exit(
        Effect.scoped(Layer.build(Layer.provide(ManagedService.layer(spec, moduleOf(hello)), owning(elsewhere))))
      )
      assert.isTrue(Exit.isFailure(exit), "two owners of one service could be made that way")
    })
  )
})
