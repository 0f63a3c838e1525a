/** Which ends of owners nobody asked for. Pure. */
import type { Life } from "../Observation.ts"

/** A while in which an owner may end, in milliseconds since the test began. */
export interface Excuse {
  readonly from: number
  to: number
}

/** Law 4: an owner that was ready and ended by itself, though it was not killed, and not in a while that excuses it. */
export const untold = (
  lives: ReadonlyArray<Life>,
  killed: ReadonlySet<number>,
  excuses: ReadonlyArray<Excuse>
): string | undefined => {
  const found = lives.find(
    ({ ordered, pid, steps, to }) =>
      to !== undefined &&
      steps.some(({ step }) => step === "ready") &&
      ordered.length === 0 &&
      !killed.has(pid) &&
      !excuses.some((excuse) => excuse.from <= to && to <= excuse.to)
  )
  return found === undefined ? undefined : `owner ${found.pid} ended, and nobody had told it to`
}
