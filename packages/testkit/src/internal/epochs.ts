/** The epochs that a service's databases hold, as anybody may read them. */
import * as lease from "@holdfast/lock/lease"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import type { Epochs } from "../Observation.ts"

const fs = process.getBuiltinModule("node:fs")

/** What a `Fence` in that database accepts. Nothing is created. */
const fenceOf = (file: string): number | undefined => {
  if (!fs.existsSync(file)) return undefined
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite")
  try {
    const database = new DatabaseSync(file, { readOnly: true, timeout: 1000 })
    try {
      return (database.prepare("SELECT epoch FROM holdfast_fence").get() as { readonly epoch: number } | undefined)
        ?.epoch
    } finally {
      database.close()
    }
  } catch {
    return undefined // no fence was raised yet, or it is being written
  }
}

export const epochsIn = (paths: ServicePaths, fence: string | undefined): Epochs => {
  const seen = lease.inspect(paths.lease)
  return {
    lease: seen._tag === "Row" ? seen.epoch : undefined,
    fence: fence === undefined ? undefined : fenceOf(fence)
  }
}
