/** The registration file, as the owner keeps it. Every function that writes takes the held lock as its first argument. */
import * as files from "@holdfast/lock/files"
import type { HeldLock } from "@holdfast/lock/gate"
import type { Registration } from "../Registration.ts"
import { parseRegistration } from "../StartupOutcome.ts"

const encode = (registration: Registration): string => `${JSON.stringify(registration)}\n`

export const write = (_lock: HeldLock, path: string, registration: Registration): void =>
  files.replace(path, encode(registration))

/** Writes again what is missing, damaged or names somebody else. `true` when it had to. */
export const reassert = (lock: HeldLock, path: string, registration: Registration): boolean => {
  const reading = files.read(path)
  if (reading._tag === "Text" && reading.text === encode(registration)) return false
  write(lock, path, registration)
  return true
}

/** Removes the record only while it is still that instance's. */
export const removeOwn = (_lock: HeldLock, path: string, instanceID: string): void => {
  const reading = files.read(path)
  if (reading._tag === "Text" && parseRegistration(reading.text)?.instanceID === instanceID) files.remove(path)
}
