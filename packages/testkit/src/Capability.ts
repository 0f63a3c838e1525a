/**
 * What this machine cannot do to a service, and why: so that a test is skipped with its reason and not passed over.
 *
 * @since 0.1.0
 */
import * as ExitCode from "@holdfast/lock/ExitCode"
import { ServiceError } from "@holdfast/lock/ServiceError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { libraryIn } from "./internal/fakeClock.ts"
import { asUser, inNamespaces, type Namespace } from "./internal/prefixes.ts"

const { spawnSync } = process.getBuiltinModule("node:child_process")
const fs = process.getBuiltinModule("node:fs")

export type { Namespace } from "./internal/prefixes.ts"

/**
 * The faults by name: the verbs of `Faults`, and of `otherNamespace` each kind.
 *
 * @category models
 * @since 0.1.0
 */
export type FaultName =
  | "faultFile"
  | "occupyPort"
  | "fullDisk"
  | "readOnly"
  | "clockJump"
  | "otherUser"
  | `${Namespace} namespace`

/**
 * What the choice needs to know of a machine. `succeeds` runs a command and says whether it ended with 0; `exists`,
 * whether there is a file.
 *
 * @category models
 * @since 0.1.0
 */
export interface Machine {
  readonly platform: NodeJS.Platform
  readonly root: boolean
  readonly succeeds: (command: ReadonlyArray<string>) => boolean
  readonly exists: (file: string) => boolean
}

/**
 * A fault that cannot be had on this machine. `reason` says what it lacks, as in "needs root".
 *
 * **When to use** It tells a test that did not ask `unless` first. `action` says how to.
 *
 * @category errors
 * @since 0.1.0
 */
export class FaultUnavailable extends ServiceError<FaultUnavailable>()("FaultUnavailable", ExitCode.unsupported, {
  fault: Schema.String,
  reason: Schema.String
}) {}

/**
 * The reason why a machine cannot do this, `undefined` where it can. Pure, apart from what it asks the machine.
 *
 * **Details**
 *
 * - `faultFile`, `occupyPort`: everywhere.
 * - `fullDisk`, `readOnly`: Linux, as root, where mounting is allowed (in many containers it is not).
 * - `clockJump`: Linux, with libfaketime in one of the places where systems install it.
 * - `otherUser`: Linux, as root, with `setpriv`.
 * - Namespaces: Linux with `unshare`; who is not root needs a kernel that lets users make user namespaces.
 *
 * **When to use** In tests of the choice. For this machine there is `against`.
 *
 * **Example**
 *
 * ```ts
 * import { choose, type Machine } from "@holdfast/testkit/Capability"
 *
 * const laptop: Machine = { platform: "darwin", root: false, succeeds: () => false, exists: () => false }
 * console.log(choose("fullDisk", laptop)) // => "needs Linux"
 * console.log(choose("occupyPort", laptop)) // => undefined
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const choose = (fault: FaultName, { exists, platform, root, succeeds }: Machine): string | undefined => {
  if (fault === "faultFile" || fault === "occupyPort") return undefined
  if (platform !== "linux") return "needs Linux"
  switch (fault) {
    case "fullDisk":
    case "readOnly":
      // in a mount namespace of its own: the probe is nowhere seen
      return !root ? "needs root" : succeeds([...inNamespaces(["mount"], root), "true"]) ? undefined : "needs mount"
    case "clockJump":
      return libraryIn(exists) === undefined ? "needs libfaketime" : undefined
    case "otherUser":
      return !root ? "needs root" : succeeds([...asUser(65_534), "true"]) ? undefined : "needs setpriv"
    default: {
      const kind = fault.slice(0, -" namespace".length) as Namespace
      return succeeds([...inNamespaces([kind], root), "true"]) ? undefined : "needs unshare"
    }
  }
}

/**
 * This process's machine.
 *
 * @category models
 * @since 0.1.0
 */
export const here: Machine = {
  platform: process.platform,
  root: process.geteuid?.() === 0,
  succeeds: ([command, ...args]) => spawnSync(command!, args, { stdio: "ignore" }).status === 0,
  exists: fs.existsSync
}

const known = new Map<FaultName, string | undefined>()

/**
 * The reason why this machine cannot do this, `undefined` where it can. Looked at once for each fault.
 *
 * **When to use** Where `unless` does not fit: to choose another test instead of skipping one.
 *
 * **Example**
 *
 * ```ts
 * import { against } from "@holdfast/testkit/Capability"
 *
 * console.log(against("occupyPort")) // => undefined
 *
 * export const note = (): string => `full disk: ${against("fullDisk") ?? "can be had"}`
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const against = (fault: FaultName): string | undefined => {
  if (!known.has(fault)) known.set(fault, choose(fault, here))
  return known.get(fault)
}

/**
 * For a test that needs these faults: whether to skip it, and what to add to its name.
 *
 * **Details** `suffix` is `" (needs root)"` or the like where the test is skipped, and empty where it runs.
 *
 * **When to use** Around every test that does something to the machine.
 *
 * **Example**
 *
 * ```ts
 * import { it } from "@effect/vitest"
 * import * as Capability from "@holdfast/testkit/Capability"
 * import * as Effect from "effect/Effect"
 *
 * const { skip, suffix } = Capability.unless("fullDisk")
 *
 * it.live.skipIf(skip)(`serves on when the disk is full${suffix}`, () => Effect.void)
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const unless = (...faults: ReadonlyArray<FaultName>): { readonly skip: boolean; readonly suffix: string } => {
  const reasons = new Set(faults.map(against).filter((reason) => reason !== undefined))
  return { skip: reasons.size > 0, suffix: reasons.size > 0 ? ` (${[...reasons].join(", ")})` : "" }
}

/**
 * Fails with `FaultUnavailable` where this machine cannot do this.
 *
 * **When to use** At the beginning of a fault of your own.
 *
 * **Example**
 *
 * ```ts
 * import { required } from "@holdfast/testkit/Capability"
 * import * as Effect from "effect/Effect"
 *
 * export const asStranger = Effect.andThen(required("otherUser"), Effect.log("another user comes"))
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const required = (fault: FaultName): Effect.Effect<void, FaultUnavailable> =>
  Effect.suspend(() => {
    const reason = against(fault)
    return reason === undefined ? Effect.void : Effect.fail(unavailable(fault, reason))
  })

/**
 * That a fault cannot be had, as an error.
 *
 * **Example**
 *
 * ```ts
 * import { unavailable } from "@holdfast/testkit/Capability"
 *
 * console.log(unavailable("fullDisk", "needs root").message)
 * // => "The fault \"fullDisk\" cannot be had on this machine: needs root."
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export const unavailable = (fault: FaultName, reason: string): FaultUnavailable =>
  new FaultUnavailable({
    fault,
    reason,
    message: `The fault "${fault}" cannot be had on this machine: ${reason}.`,
    action: `Skip the test here: Capability.unless("${fault}").`
  })
