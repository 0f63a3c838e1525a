/** The snapshot between two owners, as a file. What writes takes the ownership: without one, no write. */
import * as files from "@holdfast/lock/files"
import type { Ownership } from "@holdfast/lock/Ownership"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Continuity } from "../Continuity.ts"
import type { Owner } from "./owner.ts"
import type { Owning } from "./registration.ts"

const fs = process.getBuiltinModule("node:fs")

/** An application's continuity with all that it needs: what is kept in, what is kept out. */
export interface Continued {
  readonly snapshot: Effect.Effect<Schema.Json, Schema.SchemaError>
  /** Decodes, and only then gives what is to be run. */
  readonly resume: (value: unknown) => Effect.Effect<Effect.Effect<void>, Schema.SchemaError>
}

export const withContext = <A, I, R>(continuity: Continuity<A, I, R>, context: Context.Context<R>): Continued => {
  const codec = Schema.toCodecJson(continuity.schema)
  return {
    snapshot: Effect.flatMap(Effect.provideContext(continuity.snapshot, context), Schema.encodeEffect(codec)),
    resume: (value) =>
      Effect.map(Schema.decodeUnknownEffect(codec)(value), (decoded) =>
        Effect.provideContext(continuity.resume(decoded), context)
      )
  }
}

/** A larger snapshot is neither written nor read. */
export const largest = 1024 * 1024

/** A successor that crashes while it resumes does so this often, and then starts without. */
export const mostOffers = 2

export interface Snapshot {
  readonly schema: 1
  /** The epoch of the owner that wrote it. */
  readonly epoch: number
  readonly version: string
  /** How often it was offered to a successor. */
  readonly offers: number
  readonly value: unknown
}

const Stored = Schema.fromJsonString(
  Schema.Struct({
    schema: Schema.Literal(1),
    epoch: Schema.Int,
    version: Schema.String,
    offers: Schema.Int,
    value: Schema.Unknown
  })
)
const parse = Schema.decodeUnknownOption(Stored)
const encode = (snapshot: Snapshot): string => `${JSON.stringify(snapshot)}\n`

export type Verdict =
  | { readonly _tag: "None" }
  | { readonly _tag: "Offer"; readonly snapshot: Snapshot }
  | { readonly _tag: "Aside"; readonly why: string }

const aside = (why: string): Verdict => ({ _tag: "Aside", why })

/** What the owner of `epoch` does with what it finds. */
export const judge = (reading: files.Reading, epoch: number): Verdict => {
  if (reading._tag === "Absent") return { _tag: "None" }
  if (reading._tag === "Unreadable") return aside(`it cannot be read: ${reading.code}`)
  const snapshot = Option.getOrUndefined(parse(reading.text))
  if (snapshot === undefined) return aside("it is none, or of another kind")
  if (snapshot.epoch >= epoch) return aside(`it is from owner ${snapshot.epoch}, and this is owner ${epoch}`)
  if (snapshot.offers >= mostOffers) return aside(`it was offered ${snapshot.offers} times and never taken over`)
  return { _tag: "Offer", snapshot }
}

const write = (_owning: Owning, path: string, snapshot: Snapshot): void => files.replace(path, encode(snapshot))

/** Out of the way, whatever it is; only the latest is kept. */
const keepAside = (_owning: Owning, path: string): void => {
  fs.rmSync(`${path}.set-aside`, { recursive: true, force: true })
  fs.renameSync(path, `${path}.set-aside`)
}

/** Removes exactly what was offered. */
const removeOffered = (_owning: Owning, path: string, snapshot: Snapshot): void => {
  const reading = files.read(path, largest)
  if (reading._tag === "Text" && reading.text === encode(snapshot)) files.remove(path)
}

export interface HandOver {
  /**
   * Gives the application what the last owner left, before `ready`; answers what is to be done right after `ready`.
   * Never fails: what cannot be taken over is logged and kept beside.
   */
  readonly take: (continued: Continued | undefined) => Effect.Effect<Effect.Effect<void>>
  /**
   * Keeps what the application hands over, if it was ready. Never fails. Once it is interrupted it writes nothing any
   * more, even where the application's snapshot cannot be interrupted.
   */
  readonly leave: Effect.Effect<void>
}

/** `mayWrite` is asked at the very end of a stop. */
export const make = (
  ownership: Ownership["Service"],
  owner: Pick<Owner, "paths" | "spec">,
  mayWrite: () => boolean
): HandOver => {
  const path = owner.paths.continuity
  let ready: Continued | undefined

  const aside = (why: string, cause: Cause.Cause<unknown> = Cause.empty) =>
    Effect.sync(() => keepAside(ownership, path)).pipe(
      Effect.andThen(Effect.logWarning(`not taken over: ${why}. It is kept as ${path}.set-aside`, cause)),
      Effect.catchCause((failure) => Effect.logWarning(`not taken over: ${why}. It stays where it is`, failure))
    )

  const resume = Effect.fnUntraced(function* (snapshot: Snapshot, { resume }: Continued) {
    const decoded = yield* Effect.exit(resume(snapshot.value))
    if (Exit.isFailure(decoded)) return yield* aside("it does not decode", decoded.cause)
    // counted before it is offered: a crash in the middle was an offer
    const offered = { ...snapshot, offers: snapshot.offers + 1 }
    const counted = yield* Effect.exit(Effect.sync(() => write(ownership, path, offered)))
    if (Exit.isFailure(counted)) return yield* Effect.logWarning("nothing can be taken over now", counted.cause)
    return yield* decoded.value.pipe(
      Effect.as(offered),
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : aside("resuming failed", cause)
      )
    )
  })

  return {
    take: Effect.fnUntraced(function* (continued) {
      const verdict = yield* Effect.sync(() => judge(files.read(path, largest), ownership.epoch))
      let offered: Snapshot | void
      if (verdict._tag !== "None" && (yield* ownership.assert)) {
        if (verdict._tag === "Aside") yield* aside(verdict.why)
        else if (continued === undefined) yield* aside("this application takes nothing over")
        else offered = yield* resume(verdict.snapshot, continued)
      }
      return Effect.sync(() => {
        ready = continued
        if (offered !== undefined) removeOffered(ownership, path, offered)
      }).pipe(Effect.catchCause((cause) => Effect.logWarning(`cannot remove ${path}, which was taken over`, cause)))
    }),
    leave: Effect.suspend(() => (ready === undefined ? Effect.void : save(ready))).pipe(
      Effect.catchCause((cause) => Effect.logWarning("nothing is handed over", cause))
    )
  }

  function save({ snapshot }: Continued) {
    return Effect.gen(function* () {
      const asking = yield* Effect.forkDetach(snapshot)
      const value = yield* Fiber.join(asking).pipe(Effect.onInterrupt(() => Effect.forkDetach(Fiber.interrupt(asking))))
      const kept: Snapshot = { schema: 1, epoch: ownership.epoch, version: owner.spec.version, offers: 0, value }
      if (Buffer.byteLength(encode(kept)) > largest) {
        return yield* Effect.logWarning(`nothing is handed over: the snapshot is larger than ${largest} bytes`)
      }
      if ((yield* ownership.assert) && mayWrite()) yield* Effect.sync(() => write(ownership, path, kept))
    })
  }
}
