/**
 * A serving probe for services that greet whoever connects.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
const net = process.getBuiltinModule("node:net")

/**
 * Whether somebody serves at a Unix socket: it says something within `timeoutMs` of being connected to.
 *
 * **When to use** As the probe of the policy `fenced`, for a service that writes a greeting on connection. Holdfast's own
 * services are asked by `ServingProbe`, which proves who answers; this one does not.
 *
 * **Details** A socket that is not there, that nobody listens on, or that accepts and stays silent is not serving. The
 * connection is always closed.
 *
 * Source: wake-recovery-plan.md, step 3.
 *
 * **Example**
 *
 * ```ts
 * import { Ownership } from "@holdfast/lock/Ownership"
 * import { probeHello } from "@holdfast/lock/probeHello"
 * import * as Effect from "effect/Effect"
 *
 * export const fenced = Ownership.layer({
 *   policy: { _tag: "fenced", probe: () => Effect.promise(() => probeHello("/tmp/hello/service.sock")) }
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const probeHello = (socketPath: string, timeoutMs = 500): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(socketPath)
    const settle = (serving: boolean) => {
      socket.destroy()
      resolve(serving)
    }
    socket.setTimeout(timeoutMs, () => settle(false))
    socket.once("data", () => settle(true))
    socket.once("error", () => settle(false))
    socket.once("end", () => settle(false))
  })
