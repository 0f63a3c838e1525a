/** WebSockets of an application: Effect's upgrade handler, and a WebSocket server made when the first one comes. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeWS from "@effect/platform-node/NodeWS"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { HttpEffect } from "../Application.ts"
import type { UpgradeHandler } from "../LifecycleShell.ts"

export const upgrades = (answer: HttpEffect, scope: Scope.Scope): Effect.Effect<UpgradeHandler> =>
  Effect.gen(function* () {
    const server = yield* Effect.cached(Effect.sync(() => new NodeWS.WebSocketServer({ noServer: true })))
    return yield* NodeHttpServer.makeUpgradeHandler(server, answer, { scope })
  })
