/** The lease as it stands in its database, read by another connection. */
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"

/** A look at when it expires, for a state directory. */
export const leaseIn = (directory: string): (() => string) => {
  const database = new DatabaseSync(path.join(directory, "service.lease.db"), { readOnly: true })
  const row = database.prepare("SELECT * FROM lease")
  let last = ""
  return () => {
    try {
      last = JSON.stringify(row.get())
    } catch {
      // it is being written in this moment
    }
    return last
  }
}
