/** Hearing that something changed in a directory. */
import * as Effect from "effect/Effect"
import { watchDirectory } from "./directoryWatch.ts"

export interface Bell {
  /** Once something in the directory has changed since the last time. */
  readonly rung: Effect.Effect<void>
  readonly close: () => void
}

/** The directory may come, go, and be another one by the same name. */
export const bellOn = (directory: string): Bell => {
  let ringing = false
  let listener: (() => void) | undefined
  const { close, renew } = watchDirectory(directory, () => {
    ringing = true
    listener?.()
  })
  const rung = Effect.callback<void>((resume) => {
    renew()
    listener = () => {
      listener = undefined
      ringing = false
      resume(Effect.void)
    }
    if (ringing) listener()
    return Effect.sync(() => (listener = undefined))
  })
  return { rung, close }
}
