/** The registration file, as the owner keeps it. Every function that writes takes the owner's claim: without one, no write. */
import * as files from "@holdfast/lock/files"
import type { Claim } from "@holdfast/lock/lease"
import type { Registration } from "../Registration.ts"
import { parseRegistration } from "../StartupOutcome.ts"

/** What proves the owner: its claim, or the ownership that keeps one. */
export type Owning = Pick<Claim, "epoch" | "instanceID">

const encode = (registration: Registration): string => `${JSON.stringify(registration)}\n`

export const write = (_claim: Owning, path: string, registration: Registration): void =>
  files.replace(path, encode(registration))

/** Writes again what is missing, damaged or names somebody else. `true` when it had to. */
export const reassert = (claim: Owning, path: string, registration: Registration): boolean => {
  const reading = files.read(path)
  if (reading._tag === "Text" && reading.text === encode(registration)) return false
  write(claim, path, registration)
  return true
}

/** Removes the record only while it is still that instance's. */
export const removeOwn = (_claim: Owning, path: string, instanceID: string): void => {
  const reading = files.read(path)
  if (reading._tag === "Text" && parseRegistration(reading.text)?.instanceID === instanceID) files.remove(path)
}
