/**
 * Testing a service with real processes: verbs instead of sleeps, and a teardown that leaves nothing behind.
 *
 * @since 0.1.0
 */
import { ServiceClient } from "@holdfast/client/ServiceClient"
import type { ServiceState } from "@holdfast/client/ServiceState"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import * as identity from "@holdfast/lock/identity"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import { paths as pathsOf, type ServicePaths } from "@holdfast/lock/ServicePaths"
import type { Step } from "@holdfast/lock/step"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { type Member, memberOf, startMember } from "./internal/member.ts"
import { describe, familyOf, type Seen, within } from "./internal/processes.ts"
import { ProcessesLeft, WaitedTooLong } from "./WaitedTooLong.ts"

export type { Member } from "./internal/member.ts"
export { LawBroken, ProcessesLeft, WaitedTooLong } from "./WaitedTooLong.ts"

/**
 * How a swarm is started: where its members crash, by which command they run instead of the spec's, and what their
 * environment has more.
 *
 * @category models
 * @since 0.1.0
 */
export interface SwarmOptions {
  readonly crashAt?: Step
  readonly spec?: ServiceSpec
  readonly runtime?: string
  readonly environment?: Readonly<Record<string, string>>
}

import type { ChildProcess } from "node:child_process"

const fs = process.getBuiltinModule("node:fs")
const os = process.getBuiltinModule("node:os")
const path = process.getBuiltinModule("node:path")

/**
 * One service in a directory of its own, with the processes a test starts for it.
 *
 * **Details**
 *
 * - `spec`, `paths`: the service as this test has it; give `spec` to clients of the test's own.
 * - `swarm(n)`: n contenders, released at the same moment.
 * - `owner`: the process that owns the service, once it is registered.
 * - `client`: a client of it that may launch.
 * - `waitFor`: until the state is as wanted; fails with what happened instead. It is a client that wants the service:
 *   when every process the test started has ended, it starts the next.
 * - `eventually`: the same for any condition; `read` says what it waited on.
 * - `loaded(member)`: URLs of the modules a member loaded (Node only). `steps(member)`: the named moments it came to.
 * - `processes()`: what runs for this service now (Linux only).
 *
 * When the layer's scope closes, the owner and what it started are ended by their own pid. Any other process still
 * there was left by mistake: it is ended too, and the test fails with `ProcessesLeft`.
 *
 * @category services
 * @since 0.1.0
 */
export class Testkit extends Context.Service<
  Testkit,
  {
    readonly spec: ServiceSpec
    readonly paths: ServicePaths
    readonly swarm: (n: number, options?: SwarmOptions) => Effect.Effect<ReadonlyArray<Member>, never, Scope.Scope>
    readonly owner: Effect.Effect<Member, WaitedTooLong>
    readonly client: ServiceClient["Service"]
    readonly waitFor: (
      sentence: string,
      condition: (state: ServiceState) => boolean,
      options?: { readonly within?: Duration.Input }
    ) => Effect.Effect<ServiceState, WaitedTooLong>
    readonly eventually: <A>(
      sentence: string,
      read: () => A,
      condition: (value: A) => boolean,
      options?: { readonly within?: Duration.Input }
    ) => Effect.Effect<A, WaitedTooLong>
    readonly loaded: (member: Member) => ReadonlyArray<string>
    readonly steps: (member: Member) => ReadonlyArray<string>
    readonly processes: () => ReadonlyArray<Seen>
  }
>()("@holdfast/testkit/Testkit") {
  /** For the service of `spec`, in a fresh directory that is removed afterwards. */
  static readonly layer = (spec: ServiceSpec): Layer.Layer<Testkit> =>
    Layer.unwrap(
      Effect.map(temporary, ({ directory, scratch }) => {
        const here: ServiceSpec = { ...spec, directory }
        return Layer.effect(Testkit, make(here, pathsOf(here), scratch)).pipe(Layer.provide(ServiceClient.layer(here)))
      })
    )
}

const temporary = Effect.acquireRelease(
  Effect.sync(() => {
    const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-")))
    const [directory, scratch] = [path.join(root, "state"), path.join(root, "scratch")]
    for (const one of [directory, scratch]) fs.mkdirSync(one, { mode: 0o700 })
    return { root, directory, scratch }
  }),
  ({ root }) => Effect.sync(() => fs.rmSync(root, { recursive: true, force: true }))
)

const make = Effect.fnUntraced(function* (spec: ServiceSpec, paths: ServicePaths, scratch: string) {
  const client = yield* ServiceClient
  const started = yield* Clock.currentTimeMillis
  const lines: Array<string> = []
  const children: Array<ChildProcess> = []
  const tell = (text: string) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const line = `${((now - started) / 1000).toFixed(3).padStart(8)}s  ${text}`
      if (!lines.at(-1)?.endsWith(text)) lines.push(line)
    })
  const timeline = () =>
    [
      "what happened:",
      ...lines,
      `registration: ${textOf(paths.registration)}`,
      `owner note: ${textOf(paths.owner)}`,
      "processes:",
      describe(within(paths.directory)),
      "log:",
      textOf(paths.log).split("\n").slice(-30).join("\n")
    ].join("\n")

  /** Looks every 20 ms: a condition with a deadline, never a sleep that hopes. */
  const until = <A>(
    sentence: string,
    look: Effect.Effect<A>,
    condition: (value: A) => boolean,
    within: Duration.Input | undefined
  ) =>
    look.pipe(
      Effect.tap((value) => tell(`saw ${JSON.stringify(value)}`)),
      Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: condition }),
      Effect.timeoutOrElse({
        duration: within ?? "10 seconds",
        orElse: () => new WaitedTooLong({ message: `Waited too long until ${sentence}.\n${timeline()}`, action: "" })
      })
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
      Effect.flatMap(client.state, (state) => (condition(state) ? Effect.succeed(state) : wanted)),
      condition,
      options?.within
    )
  const eventually: Testkit["Service"]["eventually"] = (sentence, read, condition, options) =>
    until(sentence, Effect.sync(read), condition, options?.within)

  const swarm = Effect.fnUntraced(function* (n: number, options?: SwarmOptions) {
    const go = path.join(scratch, `go-${Math.random().toString(36).slice(2)}`)
    const orders = { scratch, go, ...(options?.crashAt === undefined ? {} : { crashAt: options.crashAt }) }
    const members = yield* Effect.forEach(Array.from({ length: n }), () =>
      startMember(options?.spec ?? spec, paths, orders, {
        ...options,
        tell,
        started: (child) => void children.push(child)
      })
    )
    const waiting = () => members.filter(({ pid }) => fs.existsSync(path.join(scratch, `waiting-${pid}`))).length
    yield* eventually(`${n} contenders wait at the barrier`, waiting, (count) => count === n).pipe(Effect.orDie)
    yield* tell(`released ${n} contenders: ${members.map(({ pid }) => pid).join(" ")}`)
    yield* Effect.sync(() => fs.writeFileSync(go, ""))
    return members
  })

  const owner = waitFor("an owner is registered", (state) => state.health !== null).pipe(
    Effect.flatMap((state) => Effect.sync(() => identity.ofPid(state.health!.pid))),
    Effect.map((found) => memberOf(found!, tell))
  )

  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const losersEnd = 2000 // law 3
      const unexpected = () => {
        const there = within(paths.directory)
        const holder = OwnerNote.living(paths.owner, paths.lock)
        const family = holder === undefined ? new Set<number>() : familyOf(holder.pid, there)
        return there.filter(({ pid }) => !family.has(pid))
      }
      const left = yield* Effect.sync(unexpected).pipe(
        Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: (found) => found.length === 0 }),
        Effect.timeoutOrElse({ duration: losersEnd, orElse: () => Effect.sync(unexpected) })
      )
      const story = timeline()
      yield* Effect.sync(() => within(paths.directory)).pipe(
        Effect.tap((found) => Effect.sync(() => found.forEach((one) => identity.signal(one.identity, "SIGKILL")))),
        Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: (found) => found.length === 0 }),
        Effect.timeoutOption("10 seconds")
      )
      // where there is no /proc these are all that is known; a child that was not reaped keeps its pid
      yield* Effect.sync(() => children.forEach((child) => child.kill("SIGKILL")))
      if (left.length > 0) {
        const message = `Processes were left:\n${describe(left)}\n${story}`
        return yield* Effect.die(new ProcessesLeft({ message, action: "" }))
      }
    })
  )

  return Testkit.of({
    spec,
    paths,
    swarm,
    owner,
    client,
    waitFor,
    eventually,
    loaded: ({ pid }) => linesOf(path.join(scratch, `modules-${pid}`)),
    steps: ({ pid }) => linesOf(path.join(scratch, `steps-${pid}`)),
    processes: () => within(paths.directory)
  })
})

const linesOf = (file: string): ReadonlyArray<string> =>
  textOf(file)
    .split("\n")
    .filter((line) => line !== "")

const textOf = (file: string): string => {
  try {
    return fs.readFileSync(file, "utf8").trimEnd()
  } catch {
    return ""
  }
}
