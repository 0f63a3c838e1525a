/** Ending a service: asked first, then by signals to a process that is provably it. */
import { titleOf, type ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as identity from "@holdfast/lock/identity"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Schedule from "effect/Schedule"
import type { CredentialRejected, DirectoryUnusable } from "../ClientError.ts"
import type { Discovery } from "../Discovery.ts"
import { ask, type Session } from "@holdfast/lifecycle/Credential"
import type { Ready } from "../ServiceClient.ts"
import type { Found } from "./decide.ts"
import { hold } from "./spawning.ts"
import type { SpawnLock } from "./spawnLock.ts"

export type { SpawnLock } from "./spawnLock.ts"

/**
 * What became of a stop, with its sentence for a person.
 *
 * `Stopped`: gone, as seen. `NotRunning`: nobody was there. `StillRunning`: it outlived everything. `Unidentified`: it
 * does not answer, and no process can be proved to be it. `Refused`: the system did not let us.
 *
 * @category models
 * @since 0.1.0
 */
export interface StopOutcome {
  readonly _tag: "Stopped" | "NotRunning" | "StillRunning" | "Unidentified" | "Refused"
  readonly pid?: number
  readonly sentence: string
}

/**
 * What became of a restart: only another instance than before is one.
 *
 * @category models
 * @since 0.1.0
 */
export type RestartOutcome =
  | StopOutcome
  | { readonly _tag: "Restarted"; readonly ready: Ready; readonly sentence: string }

export const restarted = (spec: ServiceSpec, ready: Ready, old: string | undefined): RestartOutcome =>
  ready.instanceID === old
    ? outcome("StillRunning", `${titleOf(spec)} (PID ${ready.pid}) is still running.`, ready.pid)
    : { _tag: "Restarted", ready, sentence: `${titleOf(spec)} v${ready.version} is ready.` }

const pollEvery = Schedule.spaced("50 millis")

/**
 * Asks exactly that instance. The deadline it answers, in milliseconds; `undefined` when it did not accept, `lost` when
 * nobody can tell whether it did.
 */
const askToStop = (session: Session, targetVersion?: string): Effect.Effect<number | "lost" | undefined> =>
  Effect.promise(async (signal) => {
    const { instanceID } = session.registration
    const body = targetVersion === undefined ? { instanceID } : { instanceID, targetVersion }
    const answer = await ask(session, { method: "POST", path: "/service/stop", body, signal })
    if (answer._tag === "Silent" || answer._tag === "Lost") return "lost"
    if (answer._tag !== "Answer" || answer.status !== 202) return undefined
    const deadline = (answer.body as { readonly deadlineMs?: unknown }).deadlineMs
    return typeof deadline === "number" ? deadline : 0
  })

/** Until the registration names another or nobody, and a registered owner's process is gone; `false` at the time limit. */
export const waitUntilGone = (
  discovery: Discovery["Service"],
  instanceID: string,
  withinMs: number,
  publish: (found: Found) => Effect.Effect<void>
): Effect.Effect<boolean, CredentialRejected | DirectoryUnusable> =>
  discovery.look.pipe(
    Effect.tap(publish),
    Effect.map((found) => !names(found, instanceID)),
    Effect.repeat({ schedule: pollEvery, until: (gone) => gone }),
    Effect.timeoutOrElse({ duration: withinMs, orElse: () => Effect.succeed(false) })
  )

const names = (found: Found, instanceID: string): boolean => instanceIn(found) === instanceID

/** The instance that lives, as far as anybody can tell. */
export const instanceIn = (found: Found): string | undefined => {
  switch (found._tag) {
    case "Missing":
      return found.holder?.instanceID
    case "Unreachable":
      return found.owner === "dead" ? undefined : found.registration.instanceID
    case "Reachable":
      return found.session.registration.instanceID
  }
}

/**
 * Whether that owner has ended: by its identity, and where nobody can judge that from here (no /proc, another pid
 * namespace), by its note, which an owner removes as the last thing it does while it holds the lock.
 */
const hasEnded = (paths: ServicePaths, note: OwnerNote.OwnerNote): boolean => {
  const state = identity.state(note)
  return state === "dead" || (state === "unknown" && OwnerNote.read(paths.owner)?.instanceID !== note.instanceID)
}

/** DESIGN §7: after this long SIGTERM becomes SIGKILL, and SIGKILL a report. */
const signalPatienceMs = 5000

const waitEnded = (paths: ServicePaths, note: OwnerNote.OwnerNote, withinMs: number): Effect.Effect<boolean> =>
  Effect.sync(() => hasEnded(paths, note)).pipe(
    Effect.repeat({ schedule: pollEvery, until: (ended) => ended }),
    Effect.timeoutOrElse({ duration: withinMs, orElse: () => Effect.succeed(false) })
  )

export const stop = (
  spec: ServiceSpec,
  paths: ServicePaths,
  discovery: Discovery["Service"],
  publish: (found: Found) => Effect.Effect<void>
): Effect.Effect<StopOutcome, CredentialRejected | DirectoryUnusable> =>
  Effect.gen(function* () {
    const title = titleOf(spec)
    // an owner that has not registered yet, whose registration was removed, or whose secret is of no use, is known by
    // its note alone
    const holder = OwnerNote.living(paths.owner, paths.lock)
    const found = yield* discovery.look.pipe(
      Effect.catchTag("CredentialRejected", () => Effect.succeed<Found>({ _tag: "Missing", holder }))
    )
    yield* publish(found)
    if (found._tag !== "Reachable" && holder === undefined && !mayLive(found)) {
      return outcome("NotRunning", `${title} is not running.`)
    }
    const note = holder ?? (found._tag === "Missing" ? undefined : found.note)
    const pid = note?.pid ?? (found._tag === "Unreachable" ? found.registration.pid : undefined)
    if (found._tag === "Reachable") {
      const answer = yield* askToStop(found.session)
      const deadline = answer === "lost" ? undefined : answer
      if (deadline !== undefined) yield* publish(stoppingNow(found))
      const gone = yield* waitUntilGone(discovery, found.health.instanceID, (deadline ?? 0) + 2000, publish)
      const ended = note === undefined ? gone : hasEnded(paths, note) || (gone && (yield* waitEnded(paths, note, 2000)))
      if (ended) return outcome("Stopped", `${title} stopped.`, found.health.pid)
      if (deadline !== undefined && (note === undefined || !sameOwner(paths, note))) {
        return outcome("StillRunning", `${title} agreed to stop and has not ended yet.`, found.health.pid)
      }
    }
    if (note === undefined || !sameOwner(paths, note)) {
      return outcome(
        "Unidentified",
        `${title} does not answer, and no process could be identified as it. Nothing was stopped.`,
        pid
      )
    }
    const asked = found._tag === "Reachable" && found.health.status.type !== "stopping"
    return yield* signalled(title, paths, note, asked)
  })

/** It has agreed: from now on it stops, which may be over before anybody looks again. */
const stoppingNow = (found: Extract<Found, { readonly _tag: "Reachable" }>, targetVersion?: string): Found => {
  const status = { type: "stopping", ...(targetVersion === undefined ? {} : { targetVersion }) } as const
  return { ...found, health: { ...found.health, status } }
}

/** Ends a process that is provably that owner; verified anew before each signal. */
const signalled = (
  title: string,
  paths: ServicePaths,
  note: OwnerNote.OwnerNote,
  asked: boolean
): Effect.Effect<StopOutcome> =>
  Effect.gen(function* () {
    for (const name of ["SIGTERM", "SIGKILL"] as const) {
      const sent = yield* Effect.sync(() => identity.signal(note, name))
      if (!sent && identity.state(note) !== "dead") {
        return outcome("Refused", `The system did not let ${title} (PID ${note.pid}) be stopped.`, note.pid)
      }
      if (yield* waitEnded(paths, note, signalPatienceMs)) {
        // who was never asked, and went when it was told to, did respond
        const unresponsive = name === "SIGKILL" || (asked && identity.state(note) === "dead")
        return outcome(
          "Stopped",
          unresponsive ? `${title} did not respond and was stopped.` : `${title} stopped.`,
          note.pid
        )
      }
    }
    return outcome("StillRunning", `${title} (PID ${note.pid}) is still running.`, note.pid)
  })

/**
 * Ends exactly the instance that was found, for a launch of another version: asked, then by signals, which only an owner
 * gets that agreed to stop and outlived its own deadline, or that nobody can ask. `no` when it did not agree: it went, or
 * another owns by now; `lost` when nobody can tell.
 */
export const replace = (
  spec: ServiceSpec,
  paths: ServicePaths,
  discovery: Discovery["Service"],
  found: Exclude<Found, { readonly _tag: "Missing" }>,
  targetVersion: string,
  publish: (found: Found) => Effect.Effect<void>
): Effect.Effect<"yes" | "no" | "lost", CredentialRejected | DirectoryUnusable> =>
  Effect.gen(function* () {
    const session = found._tag === "Reachable" ? found.session : found.foreign?.session
    if (session !== undefined) {
      const deadline = yield* askToStop(session, targetVersion)
      const isUsable = found._tag === "Reachable"
      if (isUsable && typeof deadline !== "number") return deadline ?? "no"
      if (isUsable) yield* publish(stoppingNow(found, targetVersion))
      const { instanceID } = session.registration
      const agreed = typeof deadline === "number"
      if (agreed && (yield* waitUntilGone(discovery, instanceID, deadline + 2000, publish))) return "yes"
    }
    const { note } = found
    if (note === undefined || !sameOwner(paths, note)) return session === undefined ? "no" : "yes"
    yield* signalled(titleOf(spec), paths, note, session !== undefined)
    return "yes"
  })

/** Nobody else starts one while this client ends an owner: whoever ends it starts the next. */
export const holding = (paths: ServicePaths): Effect.Effect<SpawnLock | undefined, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => hold(paths)),
    (lock) => Effect.sync(() => lock?.release())
  )

/** Somebody is registered whose process cannot be proved dead. */
const mayLive = (found: Found): boolean => found._tag === "Unreachable" && found.owner !== "dead"

/** The note is still the one that was looked at: another owner is not ours to signal. */
const sameOwner = (paths: ServicePaths, note: OwnerNote.OwnerNote): boolean =>
  OwnerNote.living(paths.owner, paths.lock)?.instanceID === note.instanceID

/** A diagnosed cause as what became of a stop. */
export const refusedFor = ({
  action,
  message
}: {
  readonly message: string
  readonly action: string
}): StopOutcome => ({
  _tag: "Refused",
  sentence: `${message} ${action}`
})

const outcome = (_tag: StopOutcome["_tag"], sentence: string, pid?: number): StopOutcome =>
  pid === undefined ? { _tag, sentence } : { _tag, sentence, pid }
