/** The lifecycle as one pure reducer: what happened, in; what the service is now and what to do, out. */
import type { ServiceStatus } from "../ServiceStatus.ts"

export type LifecycleEvent =
  | { readonly type: "Progressed"; readonly text: string }
  | { readonly type: "Booted" }
  | { readonly type: "BootFailed"; readonly message: string; readonly action: string }
  | { readonly type: "StopAsked"; readonly targetVersion?: string }

export type LifecycleCommand =
  /** Tell every listener the new status. */
  | "Announce"
  /** Begin the one and only stop. */
  | "Stop"

export const initial: ServiceStatus = { type: "starting" }

const one = (status: ServiceStatus, ...commands: ReadonlyArray<LifecycleCommand>) => [status, commands] as const

/**
 * An event that comes too late for its state changes nothing: progress after the boot, a boot that ends while the
 * service stops, a second stop. Only a boot latches `failed`.
 */
export const reduce = (
  status: ServiceStatus,
  event: LifecycleEvent
): readonly [ServiceStatus, ReadonlyArray<LifecycleCommand>] => {
  switch (event.type) {
    case "Progressed":
      return status.type === "starting" ? one({ type: "starting", progress: event.text }, "Announce") : one(status)
    case "Booted":
      return status.type === "starting" ? one({ type: "ready" }, "Announce") : one(status)
    case "BootFailed":
      return status.type === "starting"
        ? one({ type: "failed", message: event.message, action: event.action }, "Announce")
        : one(status)
    case "StopAsked":
      return status.type === "stopping"
        ? one(status)
        : one(
            event.targetVersion === undefined
              ? { type: "stopping" }
              : { type: "stopping", targetVersion: event.targetVersion },
            "Announce",
            "Stop"
          )
  }
}
