/** The one loop behind `launch`, `reconnect` and `ensure`: look, decide, act, until the service can be used. */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { isOutdated, titleOf } from "@holdfast/lifecycle/ServiceSpec"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import {
  ContenderUnusable,
  CredentialRejected,
  type Diagnosed,
  DirectoryUnusable,
  passesByItself,
  ServiceFailed,
  VersionMismatch
} from "../ClientError.ts"
import type { Discovery } from "../Discovery.ts"
import type { Contender, ContenderEvent, Spawner } from "../Spawner.ts"
import { commandOf } from "./contender.ts"
import { backoffMs, decide, type Found, initial, type Intent, type Memory, remember } from "./decide.ts"
import { replace } from "./stopping.ts"

/** DESIGN §6: the poll beneath what is heard from the contender. */
const pollMs = 250

export type Usable = Extract<Found, { readonly _tag: "Reachable" }>
type Running = Exclude<Found, { readonly _tag: "Missing" }>

export interface Connecting {
  readonly spec: ServiceSpec
  readonly paths: ServicePaths
  readonly discovery: Discovery["Service"]
  readonly spawner: Spawner["Service"]
  /** Told of everything that is found on the way. */
  readonly publish: (found: Found) => Effect.Effect<void>
  /** The last update that this client saw begin, also in the events that it follows. */
  readonly updating: () => Memory["update"]
  /** Told of each failure of a contender, in words; the last one explains a missed deadline. */
  readonly note: (diagnostic: string) => Effect.Effect<void>
}

export const now = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

const jittered = (ms: number) => Effect.map(Random.next, (random) => Math.round(ms * (0.8 + 0.4 * random)))

/** How long ago the boot of the found instance failed, by its own note; a clock that was set back since is long enough. */
const failureAge = (found: Found): Effect.Effect<number> =>
  Effect.map(Clock.currentTimeMillis, (wall) => {
    const failedAt = found._tag === "Reachable" ? found.note?.failedAt : undefined
    if (failedAt === undefined) return 0
    return failedAt > wall ? Number.POSITIVE_INFINITY : wall - failedAt
  })

/** Waits for ever; ends with the service, its failure, or a diagnosed cause. */
export const connect = (
  around: Connecting,
  intent: Intent,
  required: string
): Effect.Effect<Usable, ServiceFailed | VersionMismatch | Diagnosed> =>
  Effect.gen(function* () {
    let memory: Memory = initial
    let contender: Contender | undefined
    let crashes: ReadonlyArray<string> = []
    let spoke = false
    while (true) {
      const found = yield* around.discovery.look.pipe(Effect.catchIf(isShortage, () => Effect.undefined))
      if (found === undefined) {
        yield* hear(undefined)
        continue
      }
      yield* around.publish(found)
      const at = yield* now
      memory = { ...remember(memory, found, at), update: around.updating() }
      if (found._tag === "Reachable" && found.health.pid === contender?.pid) {
        memory = { ...memory, own: found.health.instanceID } // seen before it was heard
      }
      const step = decide(intent, memory, found, at, yield* failureAge(found))
      memory = { ...memory, first: false }
      switch (step) {
        case "Use":
          return found as Usable
        case "ShowFailure":
          return yield* failureOf(found as Usable)
        case "Mismatch":
          return yield* mismatch(around.spec, required, found as Running, memory.own)
        case "Replace": {
          const { discovery, paths, publish, spec } = around
          // what it would start is not what it asks for either
          if (required === spec.version && isOutdated(spec)) return yield* outdated(spec, required, found as Running)
          const replaced = yield* replace(spec, paths, discovery, found as Running, required, publish)
          if (!replaced) break // it went, or is another by now: look again after a pause
          memory = { ...memory, replaced }
          continue
        }
        case "Spawn": {
          const spawns = memory.spawns + 1
          memory = { ...memory, spawns, contending: true, nextSpawnAt: at + (yield* jittered(backoffMs(spawns))) }
          contender = yield* around.spawner.spawn.pipe(Effect.catchIf(isShortage, () => Effect.undefined))
          memory = { ...memory, contending: contender !== undefined }
          spoke = false
          break
        }
        case "Wait":
          break
      }
      const event = yield* hear(contender)
      if (event === undefined) continue
      if (event.type !== "exited") spoke = true
      if (event.type === "starting") {
        memory = { ...memory, own: event.registration.instanceID }
        yield* around.discovery.adopt(event)
      }
      if (event.type === "unusable" || event.type === "unstartable") return yield* diagnose(around.spec, event)
      if (event.type === "held" || event.type === "exited") {
        contender = undefined
        memory = { ...memory, contending: false }
      }
      if (event.type === "exited" && (event.code !== 0 || !spoke)) {
        yield* around.note(event.diagnostic)
        crashes = [...crashes, event.diagnostic]
        if (intent.mode === "launch" && crashes.length >= crashLimit) {
          return yield* diagnose(around.spec, {
            type: "unstartable",
            command: commandOf(around.spec.entry).command,
            reason: crashes[0]!
          })
        }
      }
    }
  }).pipe(Effect.scoped)

const isShortage = (error: Diagnosed): error is DirectoryUnusable =>
  error._tag === "DirectoryUnusable" && passesByItself(error)

/** A launch ends when its contenders ended this often without a word of their own. */
const crashLimit = 3

/** The contender's next word, or nothing within a poll's time. */
const hear = (contender: Contender | undefined): Effect.Effect<ContenderEvent | undefined, never, Scope.Scope> =>
  Effect.gen(function* () {
    const pause = yield* jittered(pollMs)
    if (contender === undefined) return yield* Effect.as(Effect.sleep(pause), undefined)
    return Option.getOrUndefined(yield* Queue.take(contender.events).pipe(Effect.timeoutOption(pause)))
  })

const failureOf = ({ health: { status } }: Usable) =>
  status.type === "failed"
    ? new ServiceFailed({ message: status.message, action: status.action })
    : new ServiceFailed({ message: "The service could not start.", action: "" })

const runs = (running: Running) => (running._tag === "Reachable" ? running.health : running.registration)

const mismatch = (spec: ServiceSpec, required: string, running: Running, own: string | undefined) => {
  const { instanceID, version } = runs(running)
  if (instanceID === own) return outdated(spec, required, running)
  return new VersionMismatch({
    required,
    found: version,
    message: `${titleOf(spec)} v${version} is running, and v${required} is needed.`,
    action: "Update the older of the two, and start it again."
  })
}

/** What is installed is not of the version that this program is of. */
const outdated = (spec: ServiceSpec, required: string, running: Running) =>
  new VersionMismatch({
    required,
    found: runs(running).version,
    message: `${titleOf(spec)} was updated while this program ran: v${runs(running).version} is running, and v${required} is needed.`,
    action: "Quit this program and start it again."
  })

const diagnose = (
  spec: ServiceSpec,
  event: Extract<ContenderEvent, { readonly type: "unusable" | "unstartable" }>
): Diagnosed => {
  const { command } = commandOf(spec.entry)
  if (event.type === "unstartable") {
    const message = `${titleOf(spec)} cannot be started: ${event.reason}`
    return new ContenderUnusable({ command: event.command, message, action: `Run \`${spec.app} service logs\`.` })
  }
  const { action, kind, message, path } = event
  switch (kind) {
    case "directory":
    case "lock":
    case "lease":
      return new DirectoryUnusable({ path, message, action })
    case "credential":
      return new CredentialRejected({ path, message, action })
    default:
      return new ContenderUnusable({ command, message, action })
  }
}
