/** The one status line: the words of the service, or what stands in its way. */
import * as StatusText from "@holdfast/client/StatusText"
import { oneLine } from "@holdfast/lock/Problem"
import { codesearch } from "../service.ts"
import type { State, Trouble } from "./State.ts"

export interface Status extends StatusText.StatusLine {
  /** Of the service that runs, or of the one that would be started. */
  readonly version: string
}

type About = Pick<State, "service" | "troubles" | "restart" | "standalone">

export const statusOf = (state: About): Status => {
  const { health, registration, status } = state.service
  const { restart, root, search, start } = state.troubles
  const version = health?.version ?? registration?.version ?? codesearch.version
  const line = StatusText.line(state.service, codesearch)
  const say = (trouble: Trouble): Status => ({
    text: oneLine(trouble.message),
    action: trouble.action === "" ? undefined : oneLine(trouble.action),
    usable: line.usable,
    version
  })
  // it is being done already
  if (state.restart === "running" && line.action !== undefined) {
    return { text: "Waiting for background service…", action: undefined, usable: false, version }
  }
  if (restart !== undefined && state.restart !== "running") return say(restart)
  // while a service is seen, it speaks for itself
  if (start !== undefined && (status.type === "missing" || status.type === "unreachable" || line.usable)) {
    return say(start)
  }
  if (line.usable) {
    const trouble = search ?? root
    if (trouble !== undefined) return say(trouble)
    if (state.standalone) return { ...line, text: `${line.text} Standalone: nothing shared is written.`, version }
  }
  return { ...line, version }
}

/** Something is wrong that a restart may end. */
export const isRestartable = (state: About): boolean => {
  const { action, usable } = statusOf(state)
  return !usable && action !== undefined && state.restart !== "running" && !state.standalone
}
