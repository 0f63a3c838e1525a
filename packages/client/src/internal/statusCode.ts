/** What `service status` answers beside the words: the state of an owner that does not answer, and the exit code. */
import * as ExitCode from "@holdfast/lock/ExitCode"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import type { ServiceState } from "../ServiceState.ts"
import { type Look, look } from "./look.ts"

/** How long the look may take: who asks gets an answer within two seconds, the start of this process included. */
export const patienceMs = 1500

export const unanswered = (seen: Look): ServiceState => ({
  status: { type: "unreachable" },
  registration: seen._tag === "Registered" ? seen.registration : null,
  health: null
})

/** What the files say about an owner that does not answer. */
export interface Files {
  readonly look: Look
  readonly holder: OwnerNote.Holder
}

export const filesOf = (paths: ServicePaths): Files => ({
  look: look(paths),
  holder: OwnerNote.holder(paths.owner, paths.lock)
})

export const ended = ({ look }: Files): boolean => look._tag === "Registered" && look.owner === "dead"

/**
 * The exit code for a state. One that no answer came for is `notRunning` only where nobody can be running: by identity
 * gone, or recorded by nobody.
 */
export const codeOf = ({ status }: ServiceState, files: Files): number => {
  switch (status.type) {
    case "ready":
      return ExitCode.ok
    case "starting":
      return ExitCode.starting
    case "stopping":
      return ExitCode.stopping
    case "failed":
      return ExitCode.failed
    case "missing":
      return files.holder._tag === "Nobody" ? ExitCode.notRunning : ExitCode.notKnown
    case "unreachable":
    case "unresponsive":
      return ended(files) ? ExitCode.notRunning : ExitCode.notKnown
  }
}
