/** What a seed draws. */
import type { Step } from "@holdfast/lock/step"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/**
 * One thing that is done to the service.
 *
 * **Details** `Swarm`: contenders come. `Kill`: the owner, at once; with `stranger` another program takes its port for a
 * second. `Freeze`: the owner, for so long. `CrashAt`: whoever comes to that step within a second. `Stop`, `Restart`: as
 * asked by a client. `Lose`, `Garble`: a file. `Jump`: the wall clock of the contenders of this test.
 *
 * @category models
 * @since 0.1.0
 */
export type Move =
  | { readonly _tag: "Swarm"; readonly contenders: number }
  | { readonly _tag: "Kill"; readonly stranger: boolean }
  | { readonly _tag: "Freeze"; readonly ms: number }
  | { readonly _tag: "CrashAt"; readonly step: Step }
  | { readonly _tag: "Stop" | "Restart" }
  | {
      readonly _tag: "Lose"
      readonly file: "registration" | "owner" | "secret" | "spawnLock" | "log" | "lock" | "lease"
    }
  | { readonly _tag: "Garble"; readonly file: "registration" | "owner" | "spawnLock" }
  | { readonly _tag: "Jump"; readonly hours: number }

/**
 * A move and when it is due, in milliseconds from the beginning.
 *
 * @category models
 * @since 0.1.0
 */
export type Planned = Move & { readonly at: number }

const crashSteps = [
  "after-lock",
  "after-bind",
  "before-register",
  "after-register",
  "during-boot",
  "during-drain",
  "at-rename"
] as const
const files = ["registration", "registration", "owner", "secret", "spawnLock", "log", "lock", "lease"] as const

/** Each as often as it stands here. */
const kinds = [
  "Swarm",
  "Swarm",
  "Swarm",
  "Kill",
  "Kill",
  "Freeze",
  "Freeze",
  "CrashAt",
  "CrashAt",
  "Stop",
  "Restart",
  "Lose",
  "Lose",
  "Lose",
  "Garble",
  "Jump"
] as const

const choice = <A>(from: ReadonlyArray<A>): Effect.Effect<A> =>
  Effect.map(Random.next, (part) => from[Math.floor(part * from.length)]!)

const move: Effect.Effect<Move> = Effect.gen(function* () {
  const kind = yield* choice(kinds)
  switch (kind) {
    case "Swarm":
      return { _tag: kind, contenders: yield* Random.nextIntBetween(1, 4) }
    case "Kill":
      return { _tag: kind, stranger: yield* Random.nextBoolean }
    case "Freeze":
      return { _tag: kind, ms: yield* Random.nextIntBetween(200, 4000) }
    case "CrashAt":
      return { _tag: kind, step: yield* choice(crashSteps) }
    case "Lose":
      return { _tag: kind, file: yield* choice(files) }
    case "Garble":
      return { _tag: kind, file: yield* choice(["registration", "owner", "spawnLock"] as const) }
    case "Jump":
      return { _tag: kind, hours: yield* choice([-8, -1, 1, 8]) }
    default:
      return { _tag: kind }
  }
})

/** Two assertion intervals: for so long two may run after somebody deleted the files (law 1). */
const healMs = 10_000

/** Whether a move would take away the second half of what tells two owners apart, before the first has healed. */
const unfair = (drawn: ReadonlyArray<Planned>, next: Planned): boolean => {
  const other =
    next._tag !== "Lose" ? undefined : next.file === "lock" ? "lease" : next.file === "lease" ? "lock" : undefined
  return (
    other !== undefined && drawn.some((one) => one._tag === "Lose" && one.file === other && next.at - one.at < healMs)
  )
}

/** The moves due before `ms`. */
export const draw = (seed: number | string, ms: number): Effect.Effect<ReadonlyArray<Planned>> =>
  Effect.gen(function* () {
    const drawn: Array<Planned> = [{ _tag: "Swarm", contenders: 3, at: 0 }]
    for (let at = 1000; ;) {
      const next = { ...(yield* move), at }
      at += yield* Random.nextIntBetween(200, 1800)
      if (next.at >= ms) return drawn
      if (!unfair(drawn, next)) drawn.push(next)
    }
  }).pipe(Random.withSeed(`${seed}`))
