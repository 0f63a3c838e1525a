/** The contender's end of what a client gave it: lines of JSON for that client, and the lock under which it was started. */
import type { StartupOutcome } from "../StartupOutcome.ts"

const fs = process.getBuiltinModule("node:fs")

export interface StartupPipe {
  /** `starting` also lets the next client start a contender: from then on there is something to be found. */
  readonly announce: (outcome: StartupOutcome) => void
  readonly close: () => void
}

/** Without a descriptor nobody listens. A client that is gone is no reason to stop either. */
export const startupPipe = (descriptor: number | undefined, spawnLock?: number): StartupPipe => {
  let open = descriptor !== undefined
  let locked = spawnLock !== undefined
  const unlock = () => {
    if (!locked) return
    locked = false
    try {
      fs.closeSync(spawnLock!)
    } catch {
      return // whoever started us gave us none
    }
  }
  const attempt = (action: () => void) => {
    try {
      if (open) action()
    } catch {
      open = false
    }
  }
  return {
    announce: (outcome) => {
      if (outcome.type === "starting") unlock()
      attempt(() => fs.writeSync(descriptor!, `${JSON.stringify(outcome)}\n`))
    },
    close: () => {
      attempt(() => fs.closeSync(descriptor!))
      open = false
    }
  }
}
