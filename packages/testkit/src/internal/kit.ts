/** The verbs of the testkit, for one service in one directory. */
import { ServiceClient } from "@holdfast/client/ServiceClient"
import type { ServiceState } from "@holdfast/client/ServiceState"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as identity from "@holdfast/lock/identity"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as Fault from "../Fault.ts"
import type { SwarmOptions, Testkit, TestkitOptions } from "../Testkit.ts"
import { toHtml } from "../Timeline.ts"
import { WaitedTooLong } from "../WaitedTooLong.ts"
import { epochsIn } from "./epochs.ts"
import { lockHolder } from "./lockHolder.ts"
import { lifeIn, textOf } from "./marks.ts"
import { memberOf, orderAt, startMember } from "./member.ts"
import { describe, within } from "./processes.ts"
import { recorder as recorderOf } from "./recorder.ts"
import { lookEveryMs, sampler as samplerOf } from "./sampler.ts"
import { origin, since } from "./stamp.ts"
import { leaveNothing } from "./teardown.ts"
import { timelineFile, write } from "./timelineFile.ts"
import { isWatchable, watched } from "./watched.ts"
import type { ChildProcess } from "node:child_process"
import { storyOf } from "./story.ts"

const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")

/** Where the service of a test lives; what its processes note is in `scratch`, beside the state directory. */
export interface Place {
  readonly spec: ServiceSpec
  readonly paths: ServicePaths
  readonly scratch: string
}

const detailOf = ({ health, registration }: ServiceState): string | undefined => {
  const known = health ?? registration
  return known === null ? undefined : `v${known.version}, PID ${known.pid}`
}

const firstLineOf = (exit: Exit.Failure<unknown, unknown>): string =>
  (Cause.prettyErrors(exit.cause)[0]?.message ?? "it was interrupted").split("\n")[0]!

export const clientOf = ({ client }: TestkitOptions): NonNullable<TestkitOptions["client"]> =>
  client ?? ((spec, access) => ServiceClient.layer(spec, { access }))

export const make = Effect.fnUntraced(function* ({ paths, scratch, spec }: Place, settings: TestkitOptions) {
  const client = yield* ServiceClient
  const from = yield* Effect.sync(origin)
  const recorder = recorderOf(paths, scratch, from)
  const sampler = samplerOf(paths, scratch, recorder, from)
  const children: Array<ChildProcess> = []
  const title = settings.title ?? spec.title ?? spec.app
  const file = timelineFile(title, settings.timelines)

  const saw = (name: string, state: ServiceState) =>
    Effect.sync(() => {
      const detail = detailOf(state)
      const { type: status } = state.status
      recorder.add({ _tag: "Seen", client: name, status, ...(detail === undefined ? {} : { detail }) })
    })
  const note = (text: string) => Effect.sync(() => recorder.add({ _tag: "Note", text }))

  const timeline = (failure?: string) => {
    sampler.look()
    return recorder.timeline(title, failure)
  }
  const story = () =>
    [
      storyOf(timeline()),
      `registration: ${textOf(paths.registration)}`,
      `owner note: ${textOf(paths.owner)}`,
      "processes:",
      describe(within(paths.directory)),
      `picture: ${file} (written when the test fails)`
    ].join("\n")

  /** Looks every 20 ms: a condition with a deadline, never a sleep that hopes. */
  const until = <A>(
    sentence: string,
    look: Effect.Effect<A>,
    condition: (value: A) => boolean,
    within: Duration.Input | undefined
  ) =>
    look.pipe(
      Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: condition }),
      Effect.timeoutOrElse({
        duration: within ?? "10 seconds",
        orElse: () => new WaitedTooLong({ message: `Waited too long until ${sentence}.\n${story()}`, action: "" })
      }),
      Effect.tap(() => note(`now ${sentence}`))
    )

  const deserted = () =>
    children.length > 0 &&
    children.every(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null) &&
    OwnerNote.living(paths.owner, paths.lock) === undefined
  const wanted = Effect.suspend(() =>
    deserted() ? client.reconnect().pipe(Effect.andThen(client.state), Effect.orDie) : client.state
  )
  const waitFor: Testkit["Service"]["waitFor"] = (sentence, condition, options) =>
    until(
      sentence,
      Effect.flatMap(client.state, (state) => (condition(state) ? Effect.succeed(state) : wanted)).pipe(
        Effect.tap((state) => saw("test", state))
      ),
      condition,
      options?.within
    )
  const eventually: Testkit["Service"]["eventually"] = (sentence, read, condition, options) =>
    until(
      sentence,
      Effect.sync(read).pipe(Effect.tap((value) => note(`saw ${String(JSON.stringify(value)).slice(0, 300)}`))),
      condition,
      options?.within
    )

  const swarm = Effect.fnUntraced(function* (n: number, options?: SwarmOptions) {
    const go = path.join(scratch, `go-${Math.random().toString(36).slice(2)}`)
    const orders = { scratch, go, ...(options?.crashAt === undefined ? {} : { crashAt: options.crashAt }) }
    const members = yield* Effect.forEach(Array.from({ length: n }), () =>
      startMember(options?.spec ?? spec, paths, orders, {
        ...options,
        recorder,
        started: (child) => void children.push(child)
      })
    )
    const atBarrier = () => members.filter(({ pid }) => fs.existsSync(path.join(scratch, `waiting-${pid}`))).length
    const [child] = children.slice(-1)
    if (child === undefined || isWatchable(child.spawnfile)) {
      yield* eventually(`${n} contenders wait at the barrier`, atBarrier, (count) => count === n).pipe(Effect.orDie)
    }
    yield* note(`released ${n} contenders: ${members.map(({ pid }) => pid).join(" ")}`)
    yield* Effect.sync(() => fs.writeFileSync(go, ""))
    return members
  })

  const owner = waitFor("an owner is registered", (state) => state.health !== null).pipe(
    Effect.flatMap((state) => Effect.sync(() => identity.ofPid(state.health!.pid))),
    Effect.map((found) => memberOf(found!, scratch, recorder))
  )

  const holder = Effect.sync(() => {
    const pid = lockHolder(paths)
    const found = pid === undefined ? undefined : identity.ofPid(pid)
    return found === undefined ? undefined : memberOf(found, scratch, recorder)
  })

  const follow: Testkit["Service"]["follow"] = Effect.fnUntraced(function* (name, options) {
    const layer = Layer.fresh(clientOf(settings)(watched(spec, paths), options?.access ?? "launch"))
    const one = Context.get(yield* Layer.build(layer), ServiceClient)
    yield* one.changes.pipe(
      Stream.runForEach((state) => saw(name, state)),
      Effect.forkScoped
    )
    return one
  })

  const crashAt: Testkit["Service"]["crashAt"] = (step) =>
    step === undefined
      ? Effect.sync(() => fs.rmSync(path.join(scratch, "at"), { force: true }))
      : Effect.andThen(
          Effect.sync(() => recorder.add({ _tag: "Fault", text: `everybody crashes at ${step}` })),
          orderAt(scratch, "at", "SIGKILL", step)
        )

  const writeTimeline = (file: string, failure?: string) => Effect.sync(() => write(file, toHtml(timeline(failure))))

  yield* Effect.addFinalizer((exit) =>
    Effect.gen(function* () {
      const left = yield* leaveNothing(paths, children, story).pipe(Effect.exit)
      const failed = [exit, left].find(Exit.isFailure)
      if (failed !== undefined) {
        yield* writeTimeline(file, firstLineOf(failed))
        yield* Effect.sync(() => process.stderr.write(`timeline: ${file}\n`))
      }
      yield* left
    })
  )
  yield* Effect.sync(sampler.look).pipe(Effect.repeat(Schedule.spaced(lookEveryMs)), Effect.forkScoped)

  const faults = Fault.make({
    paths,
    scratch,
    tell: (text, pid) => Effect.sync(() => recorder.add({ _tag: "Fault", text, ...(pid === undefined ? {} : { pid }) }))
  })

  return {
    ...faults,
    spec,
    watched: watched(spec, paths),
    next: settings.next === undefined ? undefined : { ...settings.next, directory: paths.directory },
    paths,
    swarm,
    owner,
    holder,
    client,
    follow,
    crashAt,
    waitFor,
    eventually,
    lives: sampler.lives,
    samples: sampler.samples,
    epochs: () => epochsIn(paths, settings.fence?.(paths)),
    loaded: ({ pid }) => lifeIn(scratch, pid, from)?.modules.map(({ url }) => url) ?? [],
    steps: ({ pid }) => lifeIn(scratch, pid, from)?.steps.map(({ step }) => step) ?? [],
    processes: () => within(paths.directory),
    note,
    elapsed: () => since(from),
    timeline: () => timeline(),
    writeTimeline
  } satisfies Testkit["Service"]
})
