import { assert, describe, it } from "@effect/vitest"
import { Ownership } from "@holdfast/lock/Ownership"
import { paths as pathsOf } from "@holdfast/lock/ServicePaths"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Application from "../src/Application.ts"
import { BootFailed } from "../src/BootFailed.ts"
import { ServiceInstance } from "../src/ServiceInstance.ts"

const spec = { app: "hello", version: "1.0.0", entry: new URL("file:///daemon.ts") }
const instance = ServiceInstance.of({
  spec,
  paths: pathsOf({ ...spec, directory: "/s" }),
  instanceID: "the-instance",
  epoch: 1,
  progress: () => Effect.void,
  stop: Effect.void
})

const bare = (application: Application.Application) => Effect.provide(application.boot(instance), Ownership.layerMemory)

/** Boots for the life of the test and asks one path after the other. */
const boot = (application: Application.Application) =>
  Effect.map(bare(application), (answer) => {
    const handler = HttpEffect.toWebHandler(answer as Application.HttpEffect)
    return (path: string, init?: RequestInit) =>
      Effect.promise(async () => {
        const response = await handler(new Request(`http://127.0.0.1${path}`, init))
        return { status: response.status, body: await response.text() }
      })
  })

const text = (body: string) => Effect.succeed(HttpServerResponse.text(body))

describe("an application", () => {
  it.effect("answers its routes, and 404 elsewhere", () =>
    Effect.gen(function* () {
      const get = yield* boot(
        Application.make(
          HttpRouter.add(
            "GET",
            "/hello/:name",
            Effect.flatMap(HttpRouter.params, ({ name }) => text(`hello ${name}`))
          )
        )
      )
      assert.deepStrictEqual(yield* get("/hello/ada"), { status: 200, body: "hello ada" })
      assert.strictEqual((yield* get("/nope")).status, 404)
    })
  )

  it.effect("may ask for its instance while it is built and while it answers", () =>
    Effect.gen(function* () {
      let built = ""
      const routes = HttpRouter.use((router) =>
        Effect.gen(function* () {
          built = (yield* ServiceInstance).instanceID
          yield* router.add(
            "GET",
            "/",
            Effect.flatMap(ServiceInstance, ({ paths }) => text(paths.directory))
          )
        })
      )
      const get = yield* boot(Application.make(routes))
      assert.strictEqual(built, "the-instance")
      assert.deepStrictEqual(yield* get("/"), { status: 200, body: "/s" })
    })
  )

  it.effect("whose handler fails or breaks answers 500 without a stack, and answers the next request", () =>
    Effect.gen(function* () {
      const get = yield* boot(
        Application.make(
          HttpRouter.addAll([
            HttpRouter.route("GET", "/dies", Effect.die(new Error("a secret path /etc/shadow"))),
            HttpRouter.route("GET", "/throws", (): ReturnType<typeof text> => {
              throw new Error("a secret path /etc/shadow")
            }),
            HttpRouter.route("GET", "/ok", text("ok"))
          ])
        )
      )
      for (const path of ["/dies", "/throws"]) {
        const { body, status } = yield* get(path)
        assert.strictEqual(status, 500)
        assert.notInclude(body, "shadow")
      }
      assert.strictEqual((yield* get("/ok")).body, "ok")
    })
  )

  it.effect("booted twice is two, with nothing in common", () =>
    Effect.gen(function* () {
      let count = 0
      const routes = HttpRouter.use((router) => router.add("GET", "/", text(String(++count))))
      const application = Application.make(routes)
      const [one, other] = [yield* boot(application), yield* boot(application)]
      assert.deepStrictEqual([(yield* one("/")).body, (yield* other("/")).body], ["1", "2"])
    })
  )
})

class Name extends Context.Service<Name, { readonly name: string }>()("test/Name") {}
class Greeting extends Context.Service<Greeting, { readonly text: string }>()("test/Greeting") {}
const named = Layer.succeed(Name, { name: "ada" })
const greeted = Layer.effect(
  Greeting,
  Effect.map(Name, ({ name }) => ({ text: `hello ${name}` }))
)

describe("services", () => {
  it.effect("provided serve both the building of routes and the answering of requests", () =>
    Effect.gen(function* () {
      let built = ""
      const routes = HttpRouter.use((router) =>
        Effect.gen(function* () {
          built = (yield* Greeting).text
          yield* router.add(
            "GET",
            "/",
            Effect.flatMap(Greeting, (greeting) => text(greeting.text))
          )
        })
      )
      const get = yield* boot(Application.make(routes).pipe(Application.provide(greeted), Application.provide(named)))
      assert.strictEqual(built, "hello ada")
      assert.strictEqual((yield* get("/")).body, "hello ada")
    })
  )

  it.effect("are built once for both, and closed with the scope, the later provided last", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const scoped = <S>(layer: Layer.Layer<S>, name: string) =>
        Layer.merge(
          layer,
          Layer.effectDiscard(
            Effect.acquireRelease(
              Effect.sync(() => void log.push(`open ${name}`)),
              () => Effect.sync(() => void log.push(`close ${name}`))
            )
          )
        )
      const application = Application.make(
        HttpRouter.add(
          "GET",
          "/",
          Effect.flatMap(Greeting, (greeting) => text(greeting.text))
        )
      ).pipe(
        Application.provide(Layer.merge(greeted, scoped(Layer.empty as Layer.Layer<never>, "greeting"))),
        Application.provide(scoped(named, "name"))
      )
      yield* Effect.scoped(
        Effect.gen(function* () {
          const get = yield* boot(application)
          for (let round = 0; round < 3; round++) yield* get("/")
          assert.strictEqual(log.filter((line) => line.startsWith("close")).length, 0)
        })
      )
      assert.deepStrictEqual([...log].sort(), ["close greeting", "close name", "open greeting", "open name"])
      assert.isBelow(log.indexOf("open name"), log.indexOf("close name"))
    })
  )

  it.effect("may use the instance and what the platform provides", () =>
    Effect.gen(function* () {
      const services = Layer.effect(
        Name,
        Effect.map(ServiceInstance, ({ instanceID }) => ({ name: instanceID }))
      )
      const get = yield* boot(
        Application.make(
          HttpRouter.add(
            "GET",
            "/",
            Effect.flatMap(Name, ({ name }) => text(name))
          )
        ).pipe(Application.provide(services))
      )
      assert.strictEqual((yield* get("/")).body, "the-instance")
    })
  )

  it.effect("that cannot be built end the boot with their own words", () =>
    Effect.gen(function* () {
      const words = { message: "There is no index.", action: "Run: index" }
      const failing = Layer.effect(Name, Effect.fail(new BootFailed(words)))
      const application = Application.make(
        HttpRouter.add(
          "GET",
          "/",
          Effect.flatMap(Name, ({ name }) => text(name))
        )
      )
      const booted = Effect.asVoid(bare(application.pipe(Application.provide(failing))))
      const error = yield* Effect.flip(booted)
      assert.deepInclude(error, words)
    })
  )
})

describe("a path under /service fails the boot, in words that name it", () => {
  const route = (path: `/${string}` | "*") => HttpRouter.add("GET", path, text("never"))
  const under = (prefix: string, path: `/${string}` | "*") =>
    HttpRouter.use((router) => router.prefixed(prefix).add("GET", path, text("never")))
  const group = HttpApiGroup.make("mine").add(
    HttpApiEndpoint.get("status", "/service/status", { success: Schema.String })
  )
  const api = HttpApi.make("mine").add(group)
  const viaApi = HttpApiBuilder.layer(api).pipe(
    Layer.provide(
      HttpApiBuilder.group(api, "mine", (handlers) => handlers.handle("status", () => Effect.succeed("never")))
    )
  )
  const reserved: ReadonlyArray<[string, Layer.Layer<never, BootFailed, any>]> = [
    ["/service", route("/service")],
    ["/service/", route("/service/")],
    ["/service/health", route("/service/health")],
    ["/service/:id", route("/service/:id")],
    ["/service/*", route("/service/*")],
    ["/Service/health, since routes do not care for case", route("/Service/health")],
    ["//service/health, since routes do not care for slashes", route("//service/health")],
    [
      "one of several",
      HttpRouter.addAll([HttpRouter.route("GET", "/fine", text("")), HttpRouter.route("GET", "/service/x", text(""))])
    ],
    ["/x under the prefix /service", under("/service", "/x")],
    ["/ under the prefix /service", under("/service", "/")],
    ["* under the prefix /service", under("/service", "*")],
    ["/service/x under the prefix /", under("/", "/service/x")],
    [
      "prefixes in prefixes",
      HttpRouter.use((router) => router.prefixed("/service").prefixed("/deep").add("GET", "/x", text("never")))
    ],
    ["a typed api", viaApi as Layer.Layer<never, BootFailed, any>]
  ]
  it.effect.each(reserved)("%s", ([, routes]) =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Effect.scoped(bare(Application.make(routes) as Application.Application)))
      assert.isTrue(Exit.isFailure(exit), "it booted")
      const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      assert.instanceOf(error, BootFailed)
      if (!(error instanceof BootFailed)) return
      assert.match(error.message, /^The path \/[^\n]*service[^\n]* is reserved for the service itself\.$/i)
      assert.match(error.action, /^[A-Z][^\n]*\.$/)
    })
  )

  it.effect.each<["/services" | "/a/service" | "/service-x" | "/:service" | "*" | "/"]>([
    ["/services"],
    ["/a/service"],
    ["/service-x"],
    ["/:service"],
    ["*"],
    ["/"]
  ])("%s does not", ([path]) =>
    Effect.gen(function* () {
      const get = yield* boot(Application.make(route(path)))
      assert.strictEqual((yield* get(path === "*" ? "/any" : path)).body, "never")
    })
  )
})
