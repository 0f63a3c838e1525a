/** Booting the application: import, build, mount. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Ownership } from "@holdfast/lock/Ownership"
import { step } from "@holdfast/lock/step"
import { count, metrics, spans } from "@holdfast/lock/Telemetry"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { BootFailed } from "../BootFailed.ts"
import type { ApplicationModule } from "../ManagedService.ts"
import { ServiceInstance } from "../ServiceInstance.ts"
import type { ServiceSpec } from "../ServiceSpec.ts"
import type { HandOver } from "./continuity.ts"
import { couldNotStart, type Owner } from "./owner.ts"
import { upgrades } from "./upgrades.ts"

/** What a span says of the instance it is about. */
export const attributesOf = (owner: Owner, ownership: Ownership["Service"]): Record<string, string | number> => ({
  app: owner.spec.app,
  version: owner.spec.version,
  instance: owner.shell.instanceID,
  epoch: ownership.epoch
})

/**
 * Never fails: a boot that could not be done is the status `failed`. `take` gives the application what its predecessor
 * left; `observed` is told what the module observes with.
 */
export const boot = (
  owner: Owner,
  application: ApplicationModule,
  scope: Scope.Closeable,
  take: HandOver["take"],
  observed: (context: Context.Context<never>) => void
): Effect.Effect<void, never, Ownership> =>
  Effect.gen(function* () {
    const module = yield* Effect.promise(application)
    yield* Effect.sync(() => step("during-boot"))
    const context = yield* Layer.build(module.observability ?? Layer.empty)
    observed(context)
    const ownership = yield* Ownership
    yield* Effect.gen(function* () {
      const { answer, continuity } = yield* module.default.start(instanceOf(owner, ownership))
      const handler = yield* NodeHttpServer.makeHandler(answer, { scope })
      const taken = yield* take(continuity)
      owner.shell.mount(handler, yield* upgrades(answer, scope))
      owner.shell.dispatch({ type: "Booted" })
      if (owner.shell.status().type === "ready") yield* taken
    }).pipe(
      Effect.trackDuration(metrics.bootDuration),
      Effect.withSpan(spans.boot, { attributes: attributesOf(owner, ownership) }),
      Effect.provideContext(context)
    )
    yield* count("boots", "ready")
  }).pipe(
    Scope.provide(scope),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.void
        : Effect.gen(function* () {
            yield* Effect.logError("the application could not start", cause)
            yield* count("boots", "failed")
            owner.shell.dispatch({ type: "BootFailed", ...wordsOf(cause, owner.spec) })
          })
    )
  )

/** The application's own words, or a sentence that gives nothing away and says where to look. */
const wordsOf = (
  cause: Cause.Cause<BootFailed>,
  spec: ServiceSpec
): { readonly message: string; readonly action: string } => {
  const error = Cause.squash(cause)
  return error instanceof BootFailed ? { message: error.message, action: error.action } : couldNotStart(spec)
}

const instanceOf = (owner: Owner, ownership: Ownership["Service"]): ServiceInstance["Service"] =>
  ServiceInstance.of({
    get epoch() {
      return ownership.epoch
    },
    spec: owner.spec,
    paths: owner.paths,
    instanceID: owner.shell.instanceID,
    progress: (text) => Effect.sync(() => owner.shell.dispatch({ type: "Progressed", text })),
    stop: Effect.sync(() => owner.shell.dispatch({ type: "StopAsked" }))
  })
