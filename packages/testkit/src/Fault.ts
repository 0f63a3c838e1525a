/**
 * What goes wrong on real machines, as verbs: files, disks, clocks, ports and places that are not as they should be.
 *
 * @since 0.1.0
 */
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import { signal, state } from "@holdfast/lock/identity"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { type FaultName, type FaultUnavailable, here, required, unavailable } from "./Capability.ts"
import * as fakeClock from "./internal/fakeClock.ts"
import { type FileFault, garbleFile, sentenceOf } from "./internal/garble.ts"
import { mount } from "./internal/mount.ts"
import { asUser, inNamespaces, type Namespace } from "./internal/prefixes.ts"
import { familyOf, within } from "./internal/processes.ts"
import { type Manners, occupied, type PortTaken, type Stranger } from "./internal/stranger.ts"

const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")

export { FaultUnavailable } from "./Capability.ts"
export type { FileFault } from "./internal/garble.ts"
export type { Namespace } from "./internal/prefixes.ts"
export { type Manners, PortTaken, type Stranger } from "./internal/stranger.ts"

/**
 * Where faults act. `scratch` is a directory of the test's own, beside the state directory; `tell` hears of every fault
 * and of its end.
 *
 * @category models
 * @since 0.1.0
 */
export interface Place {
  readonly paths: ServicePaths
  readonly scratch: string
  readonly tell: (text: string, pid?: number) => Effect.Effect<unknown>
}

/**
 * What a service keeps, by name; all of `ServicePaths` but the directory itself.
 *
 * @category models
 * @since 0.1.0
 */
export type ServiceFile = Exclude<keyof ServicePaths, "directory">

/**
 * A disk of 64 KiB. `fill` takes every byte that is left; `free` gives back all that `fill` took.
 *
 * @category models
 * @since 0.1.0
 */
export interface Disk {
  readonly fill: Effect.Effect<void>
  readonly free: Effect.Effect<void>
}

/**
 * The faults of one service.
 *
 * **Details** What a machine cannot do fails with `FaultUnavailable`; a test asks `Capability.unless` first. What takes a
 * scope is undone when that scope closes, also when the test failed or was interrupted.
 *
 * - `faultFile(which, how)`: at once, and for good: the test's directory is removed with it anyway. What the file system
 *   refuses is a defect.
 * - `fullDisk`: a disk of its own in the state directory's place, full from the beginning. What was in the directory is
 *   hidden meanwhile, so take it before the service is started; `free` is for a service that shall start first. At the
 *   end an owner that still lives on it is killed, with what it started, since its files go.
 * - `readOnly`: the state directory cannot be written, also by root. A descriptor that was open before still can.
 * - `clockJump(by)`: the wall clock of processes that were started with `clockEnvironment` is further by that much, or
 *   back for a negative duration; jumps add up. The monotonic clock and this process's clocks do not move. Not undone.
 * - `clockEnvironment`: the variables that such a process is to be started with (`swarm(n, { environment })`).
 * - `occupyPort(how, { port, host })`: another program listens there, in this process; without a port on a free one. It
 *   waits two seconds for a port that is taken. `host` is `127.0.0.1` without one.
 * - `otherNamespace(...kinds)`: the beginning of a command line that runs the rest in namespaces of its own. `"pid"`: sees
 *   only its own processes, which end with the first of them. `"network"`: without any network, not even loopback.
 *   `"mount"`: nothing is in /proc. `"host"`: under the host name `elsewhere`. `"user"`: root there, as in a container
 *   without root. Several make a container: `otherNamespace("pid", "host")`.
 * - `otherUser(uid)`: the beginning of a command line that runs the rest as that user, 12345 without one. It needs no
 *   entry in the password database.
 *
 * **Gotchas** `fullDisk` and `readOnly` mount on the real machine. A process beside the test unmounts also when the test
 * process is killed. Only when that one is killed, too, a mount remains, below the system's temporary directory and until
 * the next boot: `umount -l <directory>`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Faults {
  readonly faultFile: (which: ServiceFile, how: FileFault) => Effect.Effect<void>
  readonly fullDisk: Effect.Effect<Disk, FaultUnavailable, Scope.Scope>
  readonly readOnly: Effect.Effect<void, FaultUnavailable, Scope.Scope>
  readonly clockJump: (by: Duration.Input) => Effect.Effect<void, FaultUnavailable>
  readonly clockEnvironment: Effect.Effect<Readonly<Record<string, string>>, FaultUnavailable>
  readonly occupyPort: (
    how: Manners,
    options?: { readonly port?: number; readonly host?: string }
  ) => Effect.Effect<Stranger, PortTaken, Scope.Scope>
  readonly otherNamespace: (
    ...kinds: readonly [Namespace, ...Array<Namespace>]
  ) => Effect.Effect<ReadonlyArray<string>, FaultUnavailable>
  readonly otherUser: (uid?: number) => Effect.Effect<ReadonlyArray<string>, FaultUnavailable>
}

/**
 * The faults of the service in that place.
 *
 * **When to use** In a test of your own service, with the paths of its spec; `Testkit` has them made for its own.
 *
 * **Example**
 *
 * ```ts
 * import { paths } from "@holdfast/lock/ServicePaths"
 * import * as Fault from "@holdfast/testkit/Fault"
 * import * as Effect from "effect/Effect"
 *
 * const faults = Fault.make({
 *   paths: paths({ app: "hello", directory: "/tmp/hello/state" }),
 *   scratch: "/tmp/hello/scratch",
 *   tell: Effect.logInfo
 * })
 *
 * export const damaged = faults.faultFile("registration", "garbage")
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = ({ paths, scratch, tell }: Place): Faults => {
  const { directory } = paths

  const mounted = (fault: FaultName, text: string, commands: ReadonlyArray<string>, before: Effect.Effect<void>) =>
    Effect.gen(function* () {
      yield* required(fault)
      yield* Effect.acquireRelease(
        mount(directory, commands).pipe(Effect.mapError((said) => unavailable(fault, said))),
        (undo) => Effect.andThen(Effect.andThen(before, undo), tell(`no longer: ${text}`))
      ).pipe(Effect.asVoid)
      yield* tell(text)
    })

  return {
    faultFile: (which, how) =>
      Effect.andThen(
        Effect.sync(() => garbleFile(paths[which], how)),
        tell(`${which} ${sentenceOf(how)}`)
      ).pipe(Effect.asVoid),

    fullDisk: Effect.gen(function* () {
      const filler = path.join(directory, "filler")
      const fill = Effect.andThen(
        Effect.sync(() => fillWith(filler)),
        tell("the disk is full")
      ).pipe(Effect.asVoid)
      const free = Effect.andThen(
        Effect.sync(() => fs.rmSync(filler, { force: true })),
        tell("the disk has space")
      ).pipe(Effect.asVoid)
      yield* mounted(
        "fullDisk",
        "a disk of 64 KiB is in the state directory's place",
        ['mount -t tmpfs -o size=64k,mode=700 none "$1"'],
        endOwner(paths)
      )
      yield* fill
      return { fill, free }
    }),

    readOnly: mounted(
      "readOnly",
      "the state directory is read-only",
      ['mount --bind "$1" "$1"', 'mount -o remount,bind,ro "$1"'],
      Effect.void
    ),

    clockJump: (by) =>
      Effect.gen(function* () {
        yield* required("clockJump")
        const offset = fakeClock.jump(scratch, Duration.toMillis(Duration.fromInputUnsafe(by)))
        yield* tell(`the wall clock jumps, and is now ${offset / 1000} s from the true one`)
      }),

    clockEnvironment: Effect.map(required("clockJump"), () => {
      fakeClock.jump(scratch, 0)
      return fakeClock.environment(scratch, fakeClock.libraryIn(here.exists)!)
    }),

    occupyPort: (how, options) =>
      Effect.gen(function* () {
        const stranger = yield* occupied(how, options?.port ?? 0, options?.host ?? "127.0.0.1")
        yield* Effect.addFinalizer(() => tell(`the stranger at ${stranger.url} leaves`))
        yield* tell(`a stranger at ${stranger.url} ${how}`)
        return stranger
      }),

    otherNamespace: (...kinds) =>
      Effect.as(
        Effect.forEach(kinds, (kind) => required(`${kind} namespace`)),
        inNamespaces(kinds, here.root)
      ),

    otherUser: (uid = 12_345) => Effect.as(required("otherUser"), asUser(uid))
  }
}

const fillWith = (file: string): void => {
  const descriptor = fs.openSync(file, "w", 0o600)
  try {
    while (true) fs.writeSync(descriptor, Buffer.alloc(4096))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error
  } finally {
    fs.closeSync(descriptor)
  }
}

/** Who lives on the disk ends before it goes: nobody could find it afterwards. */
const endOwner = (paths: ServicePaths): Effect.Effect<void> =>
  Effect.suspend(() => {
    const owner = OwnerNote.living(paths.owner, paths.lock)
    if (owner === undefined) return Effect.void
    const there = within(paths.directory)
    const family = familyOf(owner.pid, there)
    const ending = there.filter(({ pid }) => family.has(pid)).map(({ identity }) => identity)
    for (const one of ending) signal(one, "SIGKILL")
    return Effect.sync(() => ending.every((one) => state(one) !== "alive")).pipe(
      Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: (gone) => gone }),
      Effect.timeoutOption("10 seconds"),
      Effect.asVoid
    )
  })
