/**
 * Testing a service with real processes: verbs instead of sleeps, and a teardown that leaves nothing behind.
 *
 * @since 0.1.0
 */
import type { Access, ServiceClient } from "@holdfast/client/ServiceClient"
import type { ServiceState } from "@holdfast/client/ServiceState"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import { paths as pathsOf, type ServicePaths } from "@holdfast/lock/ServicePaths"
import type { Step } from "@holdfast/lock/step"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Faults } from "./Fault.ts"
import { clientOf, make } from "./internal/kit.ts"
import type { Member } from "./internal/member.ts"
import type { Seen } from "./internal/processes.ts"
import { watched } from "./internal/watched.ts"
import type { Epochs, Life, Sample } from "./Observation.ts"
import type { Timeline } from "./Timeline.ts"
import type { WaitedTooLong } from "./WaitedTooLong.ts"

export type { Member, Signalled } from "./internal/member.ts"
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

/**
 * `title`: what the timeline is called; the service's name when it is missing. `timelines`: the directory that a failing
 * test writes its timeline to; else what `HOLDFAST_TIMELINES` names, else `timelines` in the working directory. `fence`:
 * where the application keeps the database that a `Fence` guards, so that `epochs` can read it. `next`: the same service
 * as its next version will be, for what is about updates. `client`: how the application makes its client, where it puts
 * something of its own around `ServiceClient.layer`.
 *
 * @category models
 * @since 0.1.0
 */
export interface TestkitOptions {
  readonly title?: string
  readonly timelines?: string
  readonly next?: ServiceSpec
  readonly client?: (spec: ServiceSpec, access: Access) => Layer.Layer<ServiceClient>
  readonly fence?: (paths: ServicePaths) => string
}

/**
 * One service in a directory of its own, with the processes a test starts for it.
 *
 * **Details** Verbs:
 *
 * - `swarm(n)`: n contenders, released at the same moment. Each `Member` can be killed, frozen and thawed, also exactly
 *   when it comes to a moment.
 * - `owner`: the process that owns the service, once it is registered.
 * - `holder`: the process that holds the lock now, registered or not; `undefined` when nobody does.
 * - `client`: a client of it that may launch. `follow(name)`: one more, whose statuses are in the timeline.
 * - `crashAt(step)`: every process of the service ends by SIGKILL when it comes to that moment, until `crashAt(undefined)`.
 * - `waitFor`: until the state is as wanted; fails with what happened instead. It is a client that wants the service:
 *   when every process the test started has ended, it starts the next.
 * - `eventually`: the same for any condition; `read` says what it waited on.
 *
 * - The verbs of `Faults`: `faultFile`, `fullDisk`, `readOnly`, `clockJump`, `occupyPort`, `otherNamespace`.
 *
 * Observers:
 *
 * - `lives()`: what each process came to, loaded, held in memory, and how it ended, also those that a client started.
 *   Processes of a runtime that can load nothing first, such as a compiled executable, are not among them.
 * - `samples()`: who held the lock and who was registered, from every look in which that had changed (20 a second).
 * - `epochs()`: the lease's and the fence's, now. Not while this process itself has one of these databases open: closing a
 *   file drops the locks that a process has on it.
 * - `loaded(member)`: URLs of the modules a member loaded (Node only). `steps(member)`: the named moments it came to.
 * - `processes()`: what runs for this service now (Linux only).
 * - `timeline()`: all that happened until now; `writeTimeline(file)` draws it. `note` adds a remark. `elapsed()`:
 *   milliseconds since the test began.
 *
 * `spec`, `paths`: the service as this test has it; give `spec` to clients of the test's own, or `watched`, by which the
 * processes that they start are observed, too.
 *
 * When the layer's scope closes, the owner and what it started are ended by their own pid. Any other process still
 * there was left by mistake: it is ended too, and the test fails with `ProcessesLeft`. A test that fails writes its
 * timeline and says where.
 *
 * **When to use** For what is about processes, locks, signals, crashes and updates. What an application answers is tested
 * faster with `InProcess`.
 *
 * **Gotchas** Real processes need real time: use `it.live`, and wait with `waitFor` and `eventually`, never with a sleep.
 *
 * **Example**
 *
 * ```ts
 * import { assert, it } from "@effect/vitest"
 * import { define } from "@holdfast/lifecycle/ServiceSpec"
 * import { Testkit } from "@holdfast/testkit/Testkit"
 * import * as Effect from "effect/Effect"
 *
 * const hello = define({ app: "hello", version: "1.0.0", entry: new URL("../src/daemon.ts", import.meta.url) })
 *
 * it.live("an owner that is killed has a successor", () =>
 *   Effect.gen(function*() {
 *     const kit = yield* Testkit
 *     yield* kit.swarm(3)
 *     const { kill, pid } = yield* kit.owner
 *     yield* kill
 *     yield* kit.waitFor("somebody else is ready", ({ health, status }) => status.type === "ready" && health?.pid !== pid)
 *     assert.notStrictEqual((yield* kit.owner).pid, pid)
 *   }).pipe(Effect.scoped, Effect.provide(Testkit.layer(hello))))
 * ```
 *
 * Source: service-lifecycle.md "TDD Verification".
 *
 * @category services
 * @since 0.1.0
 */
export class Testkit extends Context.Service<
  Testkit,
  Faults & {
    readonly spec: ServiceSpec
    readonly watched: ServiceSpec
    readonly next: ServiceSpec | undefined
    readonly paths: ServicePaths
    readonly swarm: (n: number, options?: SwarmOptions) => Effect.Effect<ReadonlyArray<Member>, never, Scope.Scope>
    readonly owner: Effect.Effect<Member, WaitedTooLong>
    readonly holder: Effect.Effect<Member | undefined>
    readonly client: ServiceClient["Service"]
    readonly follow: (
      name: string,
      options?: { readonly access?: Access }
    ) => Effect.Effect<ServiceClient["Service"], never, Scope.Scope>
    readonly crashAt: (step: Step | undefined) => Effect.Effect<void>
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
    readonly lives: () => ReadonlyArray<Life>
    readonly samples: () => ReadonlyArray<Sample>
    readonly epochs: () => Epochs
    readonly loaded: (member: Member) => ReadonlyArray<string>
    readonly steps: (member: Member) => ReadonlyArray<Step>
    readonly processes: () => ReadonlyArray<Seen>
    readonly note: (text: string) => Effect.Effect<void>
    readonly elapsed: () => number
    readonly timeline: () => Timeline
    readonly writeTimeline: (file: string, failure?: string) => Effect.Effect<void>
  }
>()("@holdfast/testkit/Testkit") {
  /** For the service of `spec`, in a fresh directory that is removed afterwards. */
  static readonly layer = (spec: ServiceSpec, options: TestkitOptions = {}): Layer.Layer<Testkit> =>
    Layer.unwrap(
      Effect.map(temporary, ({ directory, scratch }) => {
        const here: ServiceSpec = { ...spec, directory }
        const paths = pathsOf(here)
        const client = clientOf(options)(watched(here, paths), "launch")
        return Layer.effect(Testkit, make({ spec: here, paths, scratch }, options)).pipe(Layer.provide(client))
      })
    )
}

const fs = process.getBuiltinModule("node:fs")
const os = process.getBuiltinModule("node:os")
const path = process.getBuiltinModule("node:path")

const temporary = Effect.acquireRelease(
  Effect.sync(() => {
    const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-")))
    const [directory, scratch] = [path.join(root, "state"), path.join(root, "scratch")]
    for (const one of [directory, scratch]) fs.mkdirSync(one, { mode: 0o700 })
    return { root, directory, scratch }
  }),
  ({ root }) => Effect.sync(() => fs.rmSync(root, { recursive: true, force: true }))
)
