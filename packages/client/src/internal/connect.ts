/** The one loop behind `launch`, `reconnect` and `ensure`: look, decide, act, until the service can be used. */
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { isOutdated, titleOf } from "@holdfast/lifecycle/ServiceSpec"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
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
import type { ContenderEvent, Spawner } from "../Spawner.ts"
import { commandOf } from "./contender.ts"
import {
  afterCrash,
  afterSpawn,
  decide,
  type Found,
  hasCrashed,
  initial,
  type Intent,
  type Memory,
  remember
} from "./decide.ts"
import { type Heard, type Hearing, make as makeHearing } from "./hearing.ts"
import type { SpawnLock } from "./spawnLock.ts"
import { holding, replace } from "./stopping.ts"

/** DESIGN §6: the poll beneath what is heard. */
const pollMs = 250

/** Beneath the words of a contender, where a look would dial whoever did not answer before. */
const contenderMs = 2000

export type Usable = Extract<Found, { readonly _tag: "Reachable" }>
type Running = Exclude<Found, { readonly _tag: "Missing" }>

export interface Connecting {
  readonly spec: ServiceSpec
  readonly paths: ServicePaths
  readonly discovery: Discovery["Service"]
  readonly spawner: Spawner["Service"]
  /** Told of everything that is found on the way. */
  readonly publish: (found: Found) => Effect.Effect<void>
  /** Told of each failure of a contender, in words; the last one explains a missed deadline. */
  readonly note: (diagnostic: string) => Effect.Effect<void>
}

const now = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

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
  required: string,
  /** The spawn lock, held since the predecessor was ended. */
  kept?: SpawnLock
): Effect.Effect<Usable, ServiceFailed | VersionMismatch | Diagnosed> =>
  Effect.gen(function* () {
    const { discovery, note, spawner, spec } = around
    const since = yield* Clock.currentTimeMillis
    let memory: Memory = initial
    let held = kept
    let hearing: Hearing | undefined
    /** The pid of our last one. */
    let contender: number | undefined
    /** Which of ours have said what became of them. */
    const spoke = new Set<number>()
    const listen = Effect.suspend(() =>
      hearing === undefined
        ? Effect.tap(makeHearing(around.paths), (made) => Effect.sync(() => (hearing = made)))
        : Effect.succeed(hearing)
    )
    const spawn = Effect.fnUntraced(function* (found: Found, at: number, anyway: boolean) {
      const asked = intent.asked || memory.replaced
      const spawned = yield* spawner
        .spawn({ unlike: instanceOf(found), anyway, asked, held })
        .pipe(Effect.catchIf(isShortage, () => Effect.undefined))
      held = undefined
      if (spawned === undefined) return
      memory = afterSpawn(memory, spawned, at, { since, jitter: yield* Random.next })
      // what others' contenders ended with is this client's cause, too
      if ("crashes" in spawned && (spawned.crashes.crashedAt ?? 0) >= since) yield* note(spawned.crashes.last ?? "")
      if (spawned._tag !== "Started") return
      contender = spawned.contender.pid
      spoke.delete(contender)
      yield* (yield* listen).toContender(spawned.contender)
    })
    const heed = Effect.fnUntraced(function* (event: Heard) {
      if (event.type === "changed") return
      if (event.type === "starting") {
        memory = { ...memory, own: event.registration.instanceID }
        yield* discovery.adopt(event)
      }
      if (event.type === "unusable" || event.type === "unstartable") return yield* diagnose(spec, event)
      const crashed = event.type === "exited" && hasCrashed(event, spoke)
      if (event.type !== "exited") spoke.add(event.from)
      const over = event.type === "held" || event.type === "exited"
      if (over && event.from === contender) memory = { ...memory, contending: false }
      if (!crashed) return
      memory = afterCrash(memory, event.diagnostic)
      yield* note(event.diagnostic)
      yield* spawner.tellCrash(event.diagnostic)
    })
    while (true) {
      const found = yield* discovery.look.pipe(Effect.catchIf(isShortage, () => Effect.undefined))
      if (found !== undefined) {
        yield* around.publish(found)
        const at = yield* now
        memory = remember(memory, found, at)
        // its registration may be seen before its own word is heard
        if (found._tag !== "Missing" && runs(found).pid === contender)
          memory = { ...memory, own: runs(found).instanceID }
        const step = decide(intent, memory, found, at, yield* failureAge(found))
        memory = { ...memory, first: false }
        switch (step) {
          case "Use":
            return found as Usable
          case "ShowFailure":
            return yield* failureOf(found as Usable)
          case "Mismatch":
            return yield* mismatch(spec, required, found as Running, memory.own)
          case "GiveUp": {
            const { command } = commandOf(spec.entry)
            return yield* diagnose(spec, { type: "unstartable", command, reason: memory.cause })
          }
          case "Replace": {
            // what it would start is not what it asks for either
            if (required === spec.version && isOutdated(spec)) return yield* outdated(spec, required, found as Running)
            const { paths, publish } = around
            const old = found as Running
            held ??= yield* holding(paths)
            const outcome = yield* replace(spec, paths, discovery, old, required, publish)
            if (outcome === "lost") memory = { ...memory, asked: runs(old).instanceID }
            if (outcome !== "yes") break // it went, or is busy, or is another by now: look again after a pause
            memory = { ...memory, replaced: true }
            continue
          }
          case "Spawn":
          case "SpawnAnyway":
            yield* spawn(found, at, step === "SpawnAnyway")
            break
          case "Wait":
            break
        }
      }
      const ears = yield* listen
      if (found?._tag === "Reachable") yield* ears.toOwner(found.session)
      // a contender of ours speaks for itself; meanwhile nobody else is dialled again
      const event = yield* ears.next(memory.contending && found?._tag === "Unreachable" ? contenderMs : pollMs)
      if (event !== undefined) yield* heed(event)
    }
  }).pipe(Effect.scoped)

const isShortage = (error: Diagnosed): error is DirectoryUnusable =>
  error._tag === "DirectoryUnusable" && passesByItself(error)

/** Whose being there is no reason against a start. */
const instanceOf = (found: Found): string | undefined =>
  found._tag === "Missing"
    ? found.holder?.instanceID
    : found._tag === "Unreachable"
      ? found.registration.instanceID
      : undefined

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
