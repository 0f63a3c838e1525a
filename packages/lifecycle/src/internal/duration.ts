/** A length of time as a spec may say it, read without Effect. */
import type * as Duration from "effect/Duration"

/** Milliseconds, or a text such as `"5 minutes"`. */
export type PlainDuration = number | `${number} ${Duration.Unit}`

const units: Readonly<Record<string, number>> = {
  nano: 1e-6,
  micro: 1e-3,
  milli: 1,
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000
}

/** In milliseconds; `undefined` for what is no length of time. */
export const millisOf = (duration: unknown): number | undefined => {
  if (typeof duration === "number") return Number.isFinite(duration) ? duration : undefined
  const [, amount, unit] = /^(-?\d+(?:\.\d+)?)\s+([a-z]+?)s?$/.exec(String(duration)) ?? []
  const factor = unit === undefined || !Object.hasOwn(units, unit) ? undefined : units[unit]
  return factor === undefined ? undefined : Number(amount) * factor
}
