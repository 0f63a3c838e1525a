/**
 * Whether the holder that a lease names serves: the question of the policy `fenced`.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
import * as files from "@holdfast/lock/files"
import type { Probe } from "@holdfast/lock/lease"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Credential from "./Credential.ts"
import { parseRegistration } from "./StartupOutcome.ts"

/** DESIGN §7. */
const probeTimeoutMs = 500

/**
 * Asks the registered owner for its health, and believes it only when both sides proved themselves and it is the very
 * instance that the lease names.
 *
 * **Details** No registration, another instance's, or no answer within half a second is "not serving". Who listens
 * there without knowing the secret is not either.
 *
 * **When to use** As the `probe` of a claim, for a service with the policy `fenced`. `runDaemon` passes it by itself.
 *
 * **Example**
 *
 * ```ts
 * import { servingProbe } from "@holdfast/lifecycle/ServingProbe"
 * import type { HeldLock } from "@holdfast/lock/gate"
 * import { claim } from "@holdfast/lock/lease"
 * import type { ServicePaths } from "@holdfast/lock/ServicePaths"
 *
 * export const claimFenced = (files: ServicePaths, instanceID: string, lock: HeldLock | undefined) =>
 *   claim(files.lease, { instanceID, lock, probe: servingProbe(files) })
 * ```
 *
 * Source: wake-recovery-plan.md "Implementation steps"; DESIGN §3 "fenced".
 *
 * @category constructors
 * @since 0.1.0
 */
export const servingProbe =
  (paths: ServicePaths): Probe =>
  async ({ instanceID }) => {
    const reading = files.read(paths.registration)
    const registration = reading._tag === "Text" ? parseRegistration(reading.text) : undefined
    const secret = Credential.load(paths.secret)
    if (registration?.instanceID !== instanceID || secret._tag !== "Secret") return false
    const attached = await Credential.attach(registration, secret.secret, {
      directory: paths.directory,
      timeoutMs: probeTimeoutMs
    })
    return attached._tag === "Attached" && attached.health.instanceID === instanceID
  }
