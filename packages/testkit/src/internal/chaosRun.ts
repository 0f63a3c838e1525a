/** Plays a plan against a service, and judges it throughout. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Capability from "../Capability.ts"
import type { Epochs } from "../Observation.ts"
import { toText } from "../Timeline.ts"
import { LawBroken } from "../WaitedTooLong.ts"
import type { Move, Planned } from "./chaosPlan.ts"
import { type Excuse, untold } from "./chaosJudgement.ts"
import { fallen, heavy, lingering, twoAtOnce } from "./judgements.ts"
import type { Kit } from "./law.ts"
import { familyOf } from "./processes.ts"
import { attached, type Client, followers } from "./scenario.ts"

interface Run {
  readonly seed: number | string
  readonly clients: number
  readonly plan: ReadonlyArray<Planned>
}

/** What the run itself did, which excuses what would be a breach otherwise. */
interface Deeds {
  readonly frozen: Set<number>
  readonly killed: Set<number>
  readonly excuses: Array<Excuse>
}

const sentenceOf = ({ _tag, ...rest }: Move): string => [_tag, ...Object.values(rest)].join(" ").toLowerCase()

/** A while in which owners may end: from now until `after` ms past the end of `during`. */
const excusing = <A, E, R>(kit: Kit, { excuses }: Deeds, after: number, during: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const excuse: Excuse = { from: kit.elapsed(), to: Number.POSITIVE_INFINITY }
    excuses.push(excuse)
    return Effect.ensuring(
      during,
      Effect.sync(() => {
        excuse.to = kit.elapsed() + after
      })
    )
  })

const act = (kit: Kit, client: Client, deeds: Deeds, move: Move): Effect.Effect<unknown, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const owner = yield* kit.holder
    switch (move._tag) {
      case "Swarm": {
        const environment = yield* kit.clockEnvironment.pipe(Effect.catch(() => Effect.succeed({})))
        return yield* kit.swarm(move.contenders, { environment })
      }
      case "Kill": {
        if (owner === undefined) return
        deeds.killed.add(owner.pid)
        const port = /:(\d+)$/.exec((yield* kit.client.state).registration?.url ?? "")?.[1]
        yield* owner.kill
        if (!move.stranger || port === undefined) return
        return yield* kit
          .occupyPort("hangs", { port: Number(port) })
          .pipe(Effect.andThen(Effect.sleep("1 second")), Effect.scoped)
      }
      case "Freeze":
        if (owner === undefined) return
        deeds.frozen.add(owner.pid)
        yield* owner.freeze
        return yield* Effect.ensuring(Effect.sleep(move.ms), owner.thaw)
      case "CrashAt":
        yield* kit.crashAt(move.step)
        return yield* Effect.ensuring(Effect.sleep("1 second"), kit.crashAt(undefined))
      case "Stop":
        return yield* excusing(kit, deeds, 3000, client.stop())
      case "Restart":
        return yield* excusing(kit, deeds, 3000, client.restart())
      case "Lose": {
        const lost = kit.faultFile(move.file, "delete")
        // somebody else may own by the time that the owner looks
        return yield* move.file === "lock" || move.file === "lease" ? excusing(kit, deeds, 15_000, lost) : lost
      }
      case "Garble":
        return yield* kit.faultFile(move.file, "garbage")
      case "Jump":
        return yield* Capability.against("clockJump") === undefined ? kit.clockJump(`${move.hours} hours`) : Effect.void
    }
  })

export const run = (kit: Kit, { clients, plan, seed }: Run): Effect.Effect<void, LawBroken> =>
  Effect.gen(function* () {
    const deeds: Deeds = { frozen: new Set(), killed: new Set(), excuses: [] }
    const epochs: Array<Epochs> = []
    const done: Array<string> = []
    const broken = (law: number, words: string) =>
      new LawBroken({
        message: `Law ${law} is broken: ${words} (seed ${seed}; ${done.length} moves: ${done.join(", ")})\n${toText(kit.timeline())}`,
        action: `Repeat the plan with chaos({ seed: ${JSON.stringify(seed)} }).`
      })

    const client = yield* kit.follow("the one that asks", { access: "launch" })
    const following = yield* followers(kit, clients)
    const fibers = yield* Effect.forEach(following, ({ changes }) => Effect.forkScoped(Stream.runDrain(changes)))

    const judge = Effect.suspend(() => {
      const lives = kit.lives()
      epochs.push(kit.epochs())
      const ended = fibers.findIndex((fiber) => fiber.pollUnsafe() !== undefined)
      const found: ReadonlyArray<readonly [number, string | undefined]> = [
        [1, twoAtOnce(lives)],
        [2, fallen(epochs)],
        [3, heavy(lives)],
        [3, lingering(lives, kit.elapsed(), deeds.frozen)],
        [4, untold(lives, deeds.killed, deeds.excuses)],
        [9, ended === -1 ? undefined : `client ${ended + 1} ended`]
      ]
      const wrong = found.find(([, words]) => words !== undefined)
      return wrong === undefined ? Effect.void : Effect.fail(broken(wrong[0], wrong[1]!))
    })

    const play = Effect.gen(function* () {
      const began = kit.elapsed()
      const acts: Array<Fiber.Fiber<unknown, unknown>> = []
      for (const { at, ...move } of plan) {
        yield* Effect.sleep(Math.max(0, began + at - kit.elapsed()))
        yield* kit.note(`chaos: ${sentenceOf(move)}`)
        done.push(sentenceOf(move))
        acts.push(yield* Effect.forkScoped(Effect.exit(act(kit, client, deeds, move))))
      }
      yield* Effect.forEach(acts, (fiber) => Fiber.await(fiber))
    })

    const quiet = Effect.gen(function* () {
      yield* kit.note("chaos: it is over")
      const { pid } = yield* attached(following).pipe(
        Effect.catch((error) => broken(9, "words" in error ? error.words : error.message))
      )
      const others = () => {
        const there = kit.processes()
        const family = familyOf(pid, there)
        return there.map((one) => one.pid).filter((one) => !family.has(one))
      }
      yield* kit
        .eventually("only the owner is left", others, (left) => left.length === 0, { within: "20 seconds" })
        .pipe(Effect.catch(({ message }) => broken(8, message)))
    })

    yield* Effect.raceFirst(
      Effect.andThen(play, quiet),
      Effect.andThen(judge, Effect.void).pipe(
        Effect.repeat(Schedule.spaced("250 millis")),
        Effect.andThen(Effect.never)
      )
    )
    yield* judge
  }).pipe(Effect.scoped)
