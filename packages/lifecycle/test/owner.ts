/** A whole owner in this process, for the tests of what it does. */
import { assert } from "@effect/vitest"
import { Ownership } from "@holdfast/lock/Ownership"
import { ProcessLock } from "@holdfast/lock/ProcessLock"
import { paths as pathsOf } from "@holdfast/lock/ServicePaths"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as Application from "../src/Application.ts"
import * as Credential from "../src/Credential.ts"
import { type ApplicationModule, ManagedService } from "../src/ManagedService.ts"
import type { ServiceHealth } from "../src/ServiceHealth.ts"
import type { ServiceSpec } from "../src/ServiceSpec.ts"
import type { ServiceStatus } from "../src/ServiceStatus.ts"
import { parseRegistration } from "../src/StartupOutcome.ts"
import { ask, temporary, until } from "./support.ts"

export const answer = (text: string) => Effect.succeed(HttpServerResponse.text(text))
export const hello = Application.make(HttpRouter.add("GET", "/hello", answer("hello")))
export const moduleOf =
  (application: Application.Application): ApplicationModule =>
  () =>
    Promise.resolve({ default: application })

export const place = Effect.map(temporary, (directory) => {
  const spec: ServiceSpec = {
    app: "hello",
    title: "Hello",
    version: "1.2.3",
    entry: new URL("file:///daemon.ts"),
    directory
  }
  return { spec, paths: pathsOf(spec) }
})

/** The lock and the lease beside it. */
export const owning = (lock: string) => Ownership.layer().pipe(Layer.provideMerge(ProcessLock.layer(lock)))

/** What is logged is not what these tests are about. */
export const silent = Logger.layer([])

/** The owner in this process, in a scope that the test can close. */
export const own = Effect.fnUntraced(function* (application: ApplicationModule, change: Partial<ServiceSpec> = {}) {
  const found = yield* place
  const [spec, paths] = [{ ...found.spec, ...change }, found.paths]
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  const layer = ManagedService.layer(spec, application).pipe(Layer.provide([owning(paths.lock), silent]))
  const context = yield* Layer.buildWithScope(layer, scope)
  const service = yield* Effect.provideContext(ManagedService, context)
  let now: ServiceStatus | undefined
  yield* Stream.runForEach(service.status, (status) => Effect.sync(() => void (now = status))).pipe(
    Effect.forkIn(yield* Effect.scope)
  )
  return {
    spec,
    paths,
    service,
    close: Scope.close(scope, Exit.void),
    status: () => now,
    endpoint: service.url.slice(7),
    port: Number(service.url.split(":")[2])
  }
})
export type Owner = Effect.Success<ReturnType<typeof own>>

export const is = (owner: Owner, type: ServiceStatus["type"]) =>
  until(`it is ${type}`, () => owner.status()?.type === type)
export const registered = ({ paths }: Owner) => parseRegistration(fs.readFileSync(paths.registration, "utf8"))

/** Both rounds of the handshake, from the files alone, as a client has them. */
export const attach = (owner: Owner) =>
  Effect.gen(function* () {
    const { endpoint } = owner
    const { instanceID } = registered(owner)!
    const loaded = Credential.load(owner.paths.secret)
    if (loaded._tag !== "Secret") return yield* Effect.die(new Error(loaded._tag))
    const clientNonce = Credential.random()
    const session = (body: unknown) =>
      Effect.map(ask(owner, { method: "POST", target: "/service/session", body: JSON.stringify(body) }), ({ body }) =>
        JSON.parse(body)
      )
    const { proof, serverNonce } = yield* session({ clientNonce, instanceID })
    const challenge = { instanceID, endpoint, clientNonce, serverNonce }
    assert.strictEqual(proof, Credential.prove(loaded.secret, "server", challenge))
    const { health, token } = yield* session({
      clientNonce,
      serverNonce,
      proof: Credential.prove(loaded.secret, "client", challenge)
    })
    const headers = { [Credential.tokenHeader]: token as string }
    return { health: health as ServiceHealth, headers, get: (target: string) => ask(owner, { target, headers }) }
  })
