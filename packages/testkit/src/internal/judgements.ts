/** What the laws say of lives that were seen: each answers with what is wrong, or `undefined`. Pure. */
import type { Step } from "@holdfast/lock/step"
import type { Epochs, Life } from "../Observation.ts"

const at = (life: Life, step: Step): number | undefined => life.steps.find((one) => one.step === step)?.at

/** Processes that ran the application, in the order in which they began to. */
export const reigns = (lives: ReadonlyArray<Life>): ReadonlyArray<Life & { readonly bootedAt: number }> =>
  lives
    .flatMap((life) => {
      const bootedAt = at(life, "during-boot")
      return bootedAt === undefined ? [] : [{ ...life, bootedAt }]
    })
    .toSorted((a, b) => a.bootedAt - b.bootedAt)

const seconds = (ms: number): string => `${(ms / 1000).toFixed(3)} s`

/** Law 1. Whoever was killed counts only for as long as it was seen. */
export const twoAtOnce = (lives: ReadonlyArray<Life>): string | undefined => {
  const all = reigns(lives)
  for (const [index, next] of all.entries()) {
    const before = all.slice(0, index).find(({ to = Number.POSITIVE_INFINITY }) => to > next.bootedAt)
    if (before === undefined) continue
    return `${next.pid} ran the application from ${seconds(next.bootedAt)} on, while ${before.pid} ran it`
  }
  return undefined
}

/** Law 2: `seen` is in the order of time. */
export const fallen = (seen: ReadonlyArray<Epochs>): string | undefined => {
  let highest = 0
  for (const { fence } of seen) {
    if (fence === undefined) continue
    if (fence < highest) return `the fence accepted epoch ${fence} after ${highest}`
    highest = fence
  }
  return undefined
}

/** Contenders that came to the lock and did not get it. */
export const losers = (lives: ReadonlyArray<Life>): ReadonlyArray<Life> =>
  lives.filter((life) => at(life, "before-lock") !== undefined && at(life, "after-lock") === undefined)

/** What an owner loads only once it owns; where its runtime tells of no modules, nothing. */
const ownersOnly = (lives: ReadonlyArray<Life>): ReadonlySet<string> =>
  new Set(
    lives.flatMap((life) => {
      const owned = at(life, "after-lock")
      return owned === undefined ? [] : life.modules.filter(({ at }) => at > owned).map(({ url }) => url)
    })
  )

const weightOf = (modules: Life["modules"]): number => modules.reduce((sum, { bytes }) => sum + bytes, 0)

/** Law 3: a loser that has begun what only an owner does, or has loaded half of what an owner loads. */
export const heavy = (lives: ReadonlyArray<Life>): string | undefined => {
  const owners = ownersOnly(lives)
  const most = Math.max(0, ...reigns(lives).map(({ modules }) => weightOf(modules)))
  for (const { modules, pid, steps } of losers(lives)) {
    if (steps.some(({ step }) => step === "during-boot")) return `loser ${pid} booted the application`
    const [url] = modules.filter((module) => owners.has(module.url)).map((module) => module.url)
    if (url !== undefined) return `loser ${pid} loaded ${url}, which the owner loads only once it owns`
    const part = weightOf(modules) / most
    if (part > 0.5) return `loser ${pid} loaded ${Math.round(part * 100)} % of what the owner loads`
  }
  return undefined
}

/** DESIGN §10: how long a loser may live, in milliseconds. */
export const losersEndMs = 2000

/** Law 3: a loser that lived longer than it may. Whoever is `excused` was frozen by the test. */
export const lingering = (
  lives: ReadonlyArray<Life>,
  now: number,
  excused: ReadonlySet<number> = new Set()
): string | undefined => {
  for (const life of losers(lives)) {
    const lived = (life.to ?? now) - at(life, "before-lock")!
    if (lived > losersEndMs && !excused.has(life.pid)) {
      return `loser ${life.pid} ${life.to === undefined ? "is still there after" : "lived for"} ${seconds(lived)}`
    }
  }
  return undefined
}

/** Law 5: how long `successor` had to wait for a lock that was free since `free`, in milliseconds since the test began. */
export const waited = (successor: Life, free: number): number => {
  const asked = Math.max(free, at(successor, "before-lock") ?? successor.from)
  return (at(successor, "after-lock") ?? Number.POSITIVE_INFINITY) - asked
}
