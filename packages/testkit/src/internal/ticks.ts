/** Where a time axis has its labels. */

export interface Tick {
  readonly at: number
  readonly label: string
}

/** What people count in: 1, 2, 5 and their tenfold below ten seconds, then as clocks do. */
const clockSteps = [10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400].map(
  (s) => s * 1000
)

const stepOf = (least: number): number => {
  const onClock = clockSteps.find((step) => step >= least)
  if (least > 5000 && onClock !== undefined) return onClock
  const power = 10 ** Math.floor(Math.log10(least))
  return ([1, 2, 5, 10].find((factor) => factor * power >= least * 0.999_999) ?? 10) * power
}

/** At most `most` steps between `from` and `to`, in milliseconds; labels in seconds with no more decimals than needed. */
export const ticks = (from: number, to: number, most: number): ReadonlyArray<Tick> => {
  const step = stepOf(Math.max(to - from, 1) / Math.max(1, most))
  const decimals = Math.min(4, Math.max(0, -Math.floor(Math.log10(step / 1000) + 1e-9)))
  const first = Math.ceil(from / step)
  return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, index) => {
    const at = (first + index) * step
    return { at, label: `${(at / 1000).toFixed(decimals)} s` }
  })
}
