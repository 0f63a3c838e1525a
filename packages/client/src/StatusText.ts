/**
 * The words for people: one line for every state a service can be in.
 *
 * @since 0.1.0
 */
import { type ServiceSpec, titleOf } from "@holdfast/lifecycle/ServiceSpec"
import { oneLine } from "@holdfast/lock/Problem"
import type { ServiceState } from "./ServiceState.ts"

/**
 * `text` is one line; `action` what the person can do, where there is something; `usable` whether requests are answered
 * now.
 *
 * @category models
 * @since 0.1.0
 */
export interface StatusLine {
  readonly text: string
  readonly action: string | undefined
  readonly usable: boolean
}

/**
 * The line for a state. Total: every state has one. No retry counts, no stack traces, no transport errors.
 *
 * **Details** While the application reports what it does, `starting` shows that behind the words of DESIGN §9.
 *
 * **When to use** For every place where a person reads how the service is, so that all say it in the same words.
 *
 * **Example**
 *
 * ```ts
 * import * as StatusText from "@holdfast/client/StatusText"
 * import { missing } from "@holdfast/client/ServiceState"
 *
 * console.log(StatusText.line(missing, { app: "hello", version: "1.0.0", entry: new URL("file:///daemon.ts") }).text)
 * // => "Starting background service…"
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const line = (state: ServiceState, spec: ServiceSpec): StatusLine => {
  const { registration, status } = state
  const version = state.health?.version ?? registration?.version ?? spec.version
  // what an application says is one line here, without the means to move a cursor
  const say = (text: string, action?: string, usable = false): StatusLine => ({
    text: oneLine(text).trim(),
    action: action === undefined ? undefined : oneLine(action).trim(),
    usable
  })
  switch (status.type) {
    case "missing":
      return say("Starting background service…")
    case "unreachable":
      if (status.protocol === undefined) return say("Waiting for background service…")
      return say(
        `${titleOf(spec)} v${version} runs${pidOf(registration)} and speaks another protocol than this program.`,
        `Run \`${spec.app} service restart\` to replace it.`
      )
    case "unresponsive":
      return say(
        "The background service owns the service lock but is not responding.",
        `Run \`${spec.app} service restart\` to recover it.`
      )
    case "starting": {
      const progress = status.progress === undefined ? "" : ` ${status.progress}`
      return say(`Starting ${titleOf(spec)} v${version}…${progress}`)
    }
    case "stopping":
      return say(
        status.targetVersion === undefined ? "Waiting for background service…" : `Updating to v${status.targetVersion}…`
      )
    case "failed":
      return say(oneLine(status.message).trim() || `${titleOf(spec)} could not start.`, status.action)
    case "ready":
      return say(`${titleOf(spec)} v${version} is ready.`, undefined, true)
  }
}

const pidOf = (registration: ServiceState["registration"]): string =>
  registration === null ? "" : ` (PID ${registration.pid})`
