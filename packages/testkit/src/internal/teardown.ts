/** The end of a test: whatever runs for its service is ended by its own pid, and what should not have been left is told. */
import * as identity from "@holdfast/lock/identity"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { ProcessesLeft } from "../WaitedTooLong.ts"
import { describe, familyOf, within } from "./processes.ts"
import type { ChildProcess } from "node:child_process"

const losersEnd = 2000 // law 3

/** Dies with `ProcessesLeft` when there was more than the owner and what it started. */
export const leaveNothing = (
  paths: ServicePaths,
  children: ReadonlyArray<ChildProcess>,
  story: () => string
): Effect.Effect<void> =>
  Effect.gen(function* () {
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
    const message = left.length === 0 ? "" : `Processes were left:\n${describe(left)}\n${story()}`
    yield* Effect.sync(() => within(paths.directory)).pipe(
      Effect.tap((found) => Effect.sync(() => found.forEach((one) => identity.signal(one.identity, "SIGKILL")))),
      Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: (found) => found.length === 0 }),
      Effect.timeoutOption("10 seconds")
    )
    // where there is no /proc these are all that is known; a child that was not reaped keeps its pid
    yield* Effect.sync(() => children.forEach((child) => child.kill("SIGKILL")))
    if (left.length > 0) return yield* Effect.die(new ProcessesLeft({ message, action: "" }))
  })
