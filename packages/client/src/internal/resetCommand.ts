/** `service reset [--yes]`: forgets a service that provably nobody runs. */
import { type ServiceSpec, titleOf } from "@holdfast/lifecycle/ServiceSpec"
import * as ExitCode from "@holdfast/lock/ExitCode"
import * as fileSystem from "@holdfast/lock/fileSystem"
import { problem } from "@holdfast/lock/Problem"
import { type LockError, ProcessLock } from "@holdfast/lock/ProcessLock"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Prompt from "effect/cli/Prompt"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Stdio from "effect/Stdio"
import { checkFiles, CommandFailed, toFailure } from "./commandFailed.ts"
import { type Claimant, claimants, namesIn, remove, standingOf } from "./resetting.ts"

export const reset = (spec: ServiceSpec) =>
  Command.make(
    "reset",
    { yes: Flag.Boolean("yes").pipe(Flag.withDescription("Do not ask"), Flag.withDefault(false)) },
    ({ yes }) =>
      Effect.gen(function* () {
        if (!yes && !(yield* onTerminal)) {
          const message = `\`${spec.app} service reset\` removes files, and there is no terminal to ask on.`
          return yield* new CommandFailed({ code: ExitCode.usage, message, action: "Add --yes if you are sure." })
        }
        const { paths } = yield* checkFiles(spec, "directory")
        const names = yield* listed(paths)
        if (names.length === 0) return yield* Console.log(`There is nothing to remove in ${paths.directory}.`)
        yield* refuseOwners(spec, paths, undefined)
        if (!yes && !(yield* confirmed(paths, names))) return yield* Console.log("Nothing was removed.")
        yield* Effect.provide(removeAll(spec, paths), ProcessLock.layer(paths.lock)).pipe(
          Effect.catchTags({
            LockHeld: (error) => Effect.fail(held(spec, error.pid)),
            LockUnsupported: (error) => Effect.fail(withoutLock(error)),
            LockFailed: (error) => Effect.fail(withoutLock(error))
          })
        )
      })
  ).pipe(Command.withDescription("Remove what the service keeps, once nobody runs it; asks first"))

const onTerminal = Effect.gen(function* () {
  const stdio = yield* Stdio.Stdio
  return (yield* stdio.stdinIsTerminal) && (yield* stdio.stdoutIsTerminal)
})

const confirmed = (paths: ServicePaths, names: ReadonlyArray<string>) =>
  Prompt.run(Prompt.Confirm({ message: `Remove ${names.join(", ")} from ${paths.directory}?` })).pipe(
    Effect.catch(() => Effect.succeed(false)) // ended by Ctrl-C or Ctrl-D
  )

const listed = (paths: ServicePaths): Effect.Effect<ReadonlyArray<string>, CommandFailed> =>
  Effect.try({
    try: () => namesIn(paths),
    catch: (error) => unusable(problem("read the state directory", paths.directory, error))
  })

const unusable = ({ action, message }: { readonly message: string; readonly action: string }): CommandFailed =>
  new CommandFailed({ code: ExitCode.cannotCreate, message, action })

const refused = (message: string, action: string): CommandFailed =>
  new CommandFailed({ code: ExitCode.unavailable, message: `${message} Nothing was removed.`, action })

const held = (spec: ServiceSpec, pid: number | undefined): CommandFailed =>
  refused(
    `${titleOf(spec)} is running${pid === undefined ? "" : ` (PID ${pid})`}.`,
    `Run \`${spec.app} service stop\` first.`
  )

const withoutLock = (error: Exclude<LockError, { readonly _tag: "LockHeld" }>): CommandFailed => {
  const { action, code, message } = toFailure(error)
  return new CommandFailed({ code, message: `${message} Nothing was removed.`, action })
}

/** Fails when the files name an owner that may run; `heldInode` as in `standingOf`, `undefined` before the lock is ours. */
const refuseOwners = (spec: ServiceSpec, paths: ServicePaths, heldInode: string | null | undefined) =>
  Effect.gen(function* () {
    const found = yield* Effect.sync(() => claimants(paths))
    if (found === "busy") {
      return yield* refused(
        `Another process keeps the lease ${paths.lease} locked.`,
        "Find what holds it open, or wait."
      )
    }
    for (const claimant of found) {
      const standing = standingOf(claimant, heldInode ?? null)
      if (standing === "runs") return yield* held(spec, claimant.pid)
      if (standing === "elsewhere") return yield* elsewhere(spec, claimant)
      if (standing === "unproved" && heldInode !== undefined) return yield* unproved(spec, claimant)
    }
  })

const elsewhere = (spec: ServiceSpec, { host }: Claimant): CommandFailed =>
  refused(`${titleOf(spec)} runs on host ${host}, or did; that cannot be told from here.`, "Run this on that host.")

const unproved = (spec: ServiceSpec, { pid }: Claimant): CommandFailed =>
  refused(
    `Whether ${titleOf(spec)} runs (PID ${pid}) cannot be told from here.`,
    "Run this in the container, or as the user, that it was started in."
  )

const removeAll = (spec: ServiceSpec, paths: ServicePaths) =>
  Effect.gen(function* () {
    const { inode } = yield* ProcessLock
    const proves = fileSystem.of(paths.lock)?.remote !== true
    yield* refuseOwners(spec, paths, proves ? yield* inode : null)
    const { left, removed } = remove(paths, yield* listed(paths))
    if (removed.length > 0) yield* Console.log(`Removed ${removed.join(", ")} from ${paths.directory}.`)
    const [first] = left
    if (first !== undefined) return yield* unusable(first)
  })
