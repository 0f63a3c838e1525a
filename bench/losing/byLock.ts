/** A contender that is refused by the lock alone, without a note and without patience. */
import { enter } from "../../packages/lock/src/gate.ts"

const outcome = await enter(process.argv[2]!, { retryForMs: 0 })
process.exitCode = outcome._tag === "Held" ? 0 : 1
