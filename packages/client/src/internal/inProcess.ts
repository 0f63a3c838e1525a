/** A service without a process: the application's own handler behind the same client. */
import { type ServiceSpec, titleOf } from "@holdfast/lifecycle/ServiceSpec"
import { paths as pathsOf, type ServicePaths } from "@holdfast/lock/ServicePaths"
import { Ownership } from "@holdfast/lock/Ownership"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpEffect from "effect/http/HttpEffect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ServiceState } from "../ServiceState.ts"
import type { Session } from "@holdfast/lifecycle/Credential"
import { follow } from "./follow.ts"
import * as http from "./http.ts"

/** What an application is to a client: something that boots for an instance and needs nothing more. */
export interface Runnable<E> {
  readonly "~@holdfast/lifecycle/Application": (_: never) => never
  readonly boot: (instance: {
    readonly spec: ServiceSpec
    readonly paths: ServicePaths
    readonly instanceID: string
    readonly epoch: number
    readonly progress: (text: string) => Effect.Effect<void>
    readonly stop: Effect.Effect<void>
  }) => Effect.Effect<
    Effect.Effect<HttpServerResponse, unknown, HttpServerRequest | Scope.Scope>,
    E,
    Scope.Scope | Ownership
  >
}

const fs = process.getBuiltinModule("node:fs")
const os = process.getBuiltinModule("node:os")
const path = process.getBuiltinModule("node:path")

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

/** Requests never leave the process; the address is only what makes their URLs absolute. */
const nowhere = { host: "127.0.0.1", port: 1, endpoint: "" }

export const inProcess = <E>(spec: ServiceSpec, application: Runnable<E>) =>
  Effect.gen(function* () {
    const instanceID = "in-process"
    const directory = yield* temporaryDirectory
    // with the clock, the logger and whatever else this was made with: a test's, in a test
    const around = yield* Effect.context<never>()
    const handler = HttpEffect.toWebHandlerWith<never, HttpServerRequest | Scope.Scope>(around)(
      (yield* application
        .boot({
          spec,
          paths: pathsOf({ ...spec, directory }),
          instanceID,
          epoch: 1,
          progress: () => Effect.void,
          stop: Effect.void
        })
        .pipe(Effect.provide(Ownership.layerMemory))) as Effect.Effect<
        HttpServerResponse,
        unknown,
        HttpServerRequest | Scope.Scope
      >
    )
    const registration = { schema: 1, instanceID, version: spec.version, url: "in-process:", pid: process.pid } as const
    const state: ServiceState = {
      status: { type: "ready" },
      registration,
      health: { healthy: true, version: spec.version, pid: process.pid, instanceID, status: { type: "ready" } }
    }
    const session: Session = { registration, address: nowhere, token: "" }
    const fetchHere = ((input: string | URL | Request, init?: RequestInit) =>
      handler(new Request(input, init))) as typeof fetch
    const base = yield* HttpClient.HttpClient.pipe(
      Effect.provide(FetchHttpClient.layer),
      Effect.map(HttpClient.transform((effect) => Effect.provideService(effect, FetchHttpClient.Fetch, fetchHere)))
    )
    const ready = { url: registration.url, version: spec.version, pid: process.pid, instanceID }
    const stays = { _tag: "Refused", sentence: `${titleOf(spec)} runs in this process and ends with it.` } as const
    return {
      state: Effect.succeed(state),
      changes: Stream.concat(Stream.succeed(state), Stream.never),
      launch: () => Effect.succeed(ready),
      reconnect: () => Effect.succeed(ready),
      ensure: () => Effect.succeed(ready),
      http: http.make(base, { known: Effect.succeed(session), found: Effect.succeed(session) }),
      follow: <S, A, E1, E2, R>(source: Parameters<typeof follow<S, A, E1, E2, R>>[0]) =>
        follow(source, Effect.succeed(instanceID)),
      stop: () => Effect.succeed(stays),
      restart: () => Effect.succeed(stays)
    }
  })
