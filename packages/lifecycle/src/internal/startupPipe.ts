/** The contender's end of the startup pipe: lines of JSON for the client that started it. */
import type { StartupOutcome } from "../StartupOutcome.ts"

const fs = process.getBuiltinModule("node:fs")

export interface StartupPipe {
  readonly announce: (outcome: StartupOutcome) => void
  readonly close: () => void
}

/** Without a descriptor nobody listens. A client that is gone is no reason to stop either. */
export const startupPipe = (descriptor: number | undefined): StartupPipe => {
  let open = descriptor !== undefined
  const attempt = (action: () => void) => {
    try {
      if (open) action()
    } catch {
      open = false
    }
  }
  return {
    announce: (outcome) => attempt(() => fs.writeSync(descriptor!, `${JSON.stringify(outcome)}\n`)),
    close: () => {
      attempt(() => fs.closeSync(descriptor!))
      open = false
    }
  }
}
