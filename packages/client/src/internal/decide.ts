/** What a client does next, as a pure function of what it found and what it has done so far. */
import type { Registration } from "@holdfast/lifecycle/Registration"
import type { ServiceHealth } from "@holdfast/lifecycle/ServiceHealth"
import type { IdentityState } from "@holdfast/lock/identity"
import type { OwnerNote } from "@holdfast/lock/OwnerNote"
import type { ServiceState } from "../ServiceState.ts"
import type { Spawned } from "../Spawner.ts"
import type { Session } from "@holdfast/lifecycle/Credential"

export type Found =
  | { readonly _tag: "Missing"; readonly holder: OwnerNote | undefined }
  | {
      readonly _tag: "Unreachable"
      readonly registration: Registration
      readonly owner: IdentityState
      readonly note: OwnerNote | undefined
      readonly why: string
      /** It did not answer in time: busy, frozen, or asleep. */
      readonly silent: boolean
      /** It answered, in words of another version or of another program. */
      readonly foreign?: { readonly session: Session | undefined }
    }
  | {
      readonly _tag: "Reachable"
      readonly session: Session
      readonly health: ServiceHealth
      readonly note: OwnerNote | undefined
    }

/**
 * The owner lives, and speaks another protocol than this program. On the port of an owner that is not known to live
 * anybody may answer: that is nobody's word.
 */
export const isOtherwise = (
  found: Found | undefined
): found is Extract<Found, { readonly _tag: "Unreachable" }> & { readonly foreign: {} } =>
  found?._tag === "Unreachable" &&
  found.foreign !== undefined &&
  (found.owner === "alive" || (found.owner === "unknown" && found.foreign.session !== undefined))

export const stateOf = (found: Found): ServiceState => {
  switch (found._tag) {
    case "Missing":
      return { status: { type: "missing" }, registration: null, health: null }
    case "Unreachable":
      return {
        status: { type: "unreachable", ...(isOtherwise(found) ? { protocol: "other" } : {}) },
        registration: found.registration,
        health: null
      }
    case "Reachable":
      return { status: found.health.status, registration: found.session.registration, health: found.health }
  }
}

/** Why a service that runs cannot be used from here, in words; `undefined` where its status says it better. */
export const whyNot = (found: Found | undefined): string | undefined =>
  found?._tag === "Unreachable" && !isOtherwise(found) && found.owner !== "dead" && !found.silent
    ? `PID ${found.registration.pid} owns it and cannot be reached at ${found.registration.url} from here: ${found.why}.`
    : undefined

export interface Intent {
  readonly mode: "launch" | "reconnect" | "ensure"
  /** May start a contender, may replace another version. */
  readonly maySpawn: boolean
  readonly accepts: (version: string) => boolean
  readonly maxSpawns: number
  /** A person asked for exactly this: what failed before does not make them wait. */
  readonly asked: boolean
}

export interface Memory {
  /** Nothing was decided yet in this call. */
  readonly first: boolean
  /** This launch has stopped an instance already; it does so once. */
  readonly replaced: boolean
  /** Whom it has asked to stop, with the answer lost: that may have been the one. */
  readonly asked: string | undefined
  /** Since when the recorded owner, alive by identity, has been silent; milliseconds on a monotonic clock. */
  readonly silentSince: number | undefined
  readonly spawns: number
  /** No contender before this; backoff between spawns, one's own and everybody's. */
  readonly nextSpawnAt: number
  /** Since when others hold the spawn lock and nobody has registered, and from when on it is not waited for. */
  readonly queue: { readonly since: number; readonly until: number } | undefined
  /** Starts of this call, and others' meanwhile, that ended at once: how many, and the first cause. */
  readonly crashes: number
  readonly cause: string
  /** Our own contender is still on its way. */
  readonly contending: boolean
  /** The instance that our contender became: what is installed is of its version, and another start would be too. */
  readonly own: string | undefined
}

export const initial: Memory = {
  first: true,
  replaced: false,
  asked: undefined,
  silentSince: undefined,
  spawns: 0,
  nextSpawnAt: 0,
  queue: undefined,
  crashes: 0,
  cause: "",
  contending: false,
  own: undefined
}

/** `SpawnAnyway`: without the spawn lock. */
export type Step = "Use" | "Wait" | "Spawn" | "SpawnAnyway" | "Replace" | "ShowFailure" | "Mismatch" | "GiveUp"

/** DESIGN §6: while the recorded owner is alive by identity nobody spawns before this long a silence. */
export const silenceMs = 10_000

/** A launch that first looks and finds a failure older than this replaces it once. */
export const failureAgeMs = 10_000

export const ownerLives = (found: Found): boolean =>
  found._tag === "Missing" ? found.holder !== undefined : found._tag === "Unreachable" && found.owner === "alive"

/** Milliseconds of silence go into the memory before deciding; whoever is found ends the queue. */
export const remember = (memory: Memory, found: Found, now: number): Memory => ({
  ...memory,
  silentSince: ownerLives(found) ? (memory.silentSince ?? now) : undefined,
  queue: found._tag === "Reachable" || ownerLives(found) ? undefined : memory.queue
})

/** DESIGN §6: who holds the spawn lock this long, and stands still, is not waited for. One that gets on is, for longer. */
export const queueMs = { stuck: 3000, moving: 10_000 }

/** Nobody gives up the queue at the same moment as the others. */
export const queueJitterMs = 2000

/** What came of the wish for a contender goes into the memory. `jitter` is from 0 to 1. */
export const afterSpawn = (
  memory: Memory,
  spawned: Spawned,
  now: number,
  { jitter, since }: { readonly jitter: number; /** When the call began, by the wall clock. */ readonly since: number }
): Memory => {
  switch (spawned._tag) {
    case "Started": {
      const spawns = memory.spawns + 1
      const nextSpawnAt = now + Math.round(backoffMs(spawns) * (0.8 + 0.4 * jitter))
      return { ...memory, spawns, nextSpawnAt, queue: undefined, contending: true }
    }
    case "Queued": {
      const from = memory.queue?.since ?? now
      const patience = spawned.stuck ? queueMs.stuck : queueMs.moving
      return { ...memory, queue: { since: from, until: from + patience + Math.round(queueJitterMs * jitter) } }
    }
    case "TooOften": {
      const { crashedAt = 0, crashes, first = "" } = spawned.crashes
      const waited: Memory = { ...memory, queue: undefined, nextSpawnAt: now + spawned.ms }
      if (crashedAt < since) return waited
      return { ...waited, crashes: Math.max(crashes, memory.crashes), cause: memory.cause || first }
    }
    case "Found":
      return { ...memory, queue: undefined }
  }
}

/**
 * Whether the end of one of ours was a crash: it failed, or had not said what became of it. `spoke` has the pids of those
 * that had; one that lost may end only after the next was started, and is no crash of that one.
 */
export const hasCrashed = (
  { code, from }: { readonly code: number | null; readonly from: number },
  spoke: ReadonlySet<number>
): boolean => code !== 0 || !spoke.has(from)

/** Our contender ended at once, with these words. */
export const afterCrash = (memory: Memory, words: string): Memory => ({
  ...memory,
  contending: false,
  crashes: memory.crashes + 1,
  cause: memory.cause || words
})

/** A launch ends when contenders ended this often without a word of their own. */
const crashLimit = 3

/** `now` is monotonic, `age` how long ago the found instance failed to boot; both in milliseconds. */
export const decide = (intent: Intent, memory: Memory, found: Found, now: number, age: number): Step => {
  if (isOtherwise(found)) {
    const { instanceID, version } = found.registration
    return intent.mode !== "launch" || intent.accepts(version) ? "Wait" : another(intent, memory, instanceID)
  }
  if (found._tag !== "Reachable") {
    if (intent.mode === "launch" && memory.crashes >= crashLimit && !memory.contending) return "GiveUp"
    if (!intent.maySpawn || memory.contending || memory.spawns >= intent.maxSpawns) return "Wait"
    if (memory.silentSince !== undefined && now - memory.silentSince < silenceMs) return "Wait"
    if (now < memory.nextSpawnAt) return "Wait"
    return memory.queue !== undefined && now >= memory.queue.until ? "SpawnAnyway" : "Spawn"
  }
  const { status, version } = found.health
  if (status.type === "stopping") return "Wait"
  if (intent.mode === "launch" && !intent.accepts(version)) return another(intent, memory, found.health.instanceID)
  switch (status.type) {
    case "starting":
      return "Wait"
    case "ready":
      return "Use"
    case "failed": {
      if (intent.mode === "reconnect") return "Wait"
      const stale = intent.mode === "launch" && intent.maySpawn && memory.first && !memory.replaced
      return stale && age > failureAgeMs ? "Replace" : "ShowFailure"
    }
  }
}

/** A launch replaces one instance of another version, and none that it started itself: the next would be the same. */
const another = (intent: Intent, memory: Memory, instanceID: string): Step =>
  intent.maySpawn &&
  !memory.replaced &&
  (memory.asked === undefined || memory.asked === instanceID) &&
  memory.own !== instanceID
    ? "Replace"
    : "Mismatch"

/** Delay before spawn number `spawns + 1`: 250 ms × 2, capped at 5 s; jitter is the caller's. */
export const backoffMs = (spawns: number): number => Math.min(250 * 2 ** Math.max(spawns - 1, 0), 5000)
