/** Timelines as a test of ten contenders has them, made up: the same number gives the same story. */
import type { Happening, Timeline } from "@holdfast/testkit/Timeline"

/** Numbers between 0 and 1 that are the same each time (a linear congruence). */
export const dice = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

export interface StoryOptions {
  readonly contenders: number
  readonly clients: number
  /** Owners killed one after the other. */
  readonly kills: number
  readonly durationMs: number
  readonly failure?: string
  readonly seed?: number
}

/** Contenders start together, one owns and is killed, another succeeds it; clients follow whoever owns. */
export const story = ({ clients, contenders, durationMs, failure, kills, seed = 1 }: StoryOptions): Timeline => {
  const roll = dice(seed)
  const about = (ms: number) => ms * (0.8 + roll() * 0.4)
  const happenings: Array<Happening> = []
  const reigns = kills + 1
  const perReign = Math.max(1, Math.round(contenders / reigns))
  const reign = durationMs / reigns
  // of a start that takes a third of a second there is less to see in a story of ten minutes, as in life
  const unit = Math.min(1, reign / 1200)
  let pid = 48_210
  let left = contenders
  const seen = (status: string, at: number, detail?: string) => {
    for (let client = 0; client < clients; client++) {
      const when = at + roll() * 40 * unit
      happenings.push({
        _tag: "Seen",
        at: when,
        client: clientName(client),
        status,
        ...(detail === undefined ? {} : { detail })
      })
    }
  }
  for (let number = 1; number <= reigns && left > 0; number++) {
    const begin = (number - 1) * reign + (number === 1 ? 4 * unit : 60 * unit)
    const group = Array.from(
      { length: number === reigns ? left : Math.min(left, perReign) },
      () => (pid += 1 + Math.floor(roll() * 6))
    )
    left -= group.length
    const owner = group[Math.floor(roll() * group.length)]!
    happenings.push({
      _tag: "Note",
      at: begin + 30 * unit,
      text: group.length === 1 ? "released it" : `released ${group.length} contenders`
    })
    for (const one of group) {
      const start = begin + roll() * 25 * unit
      happenings.push({ _tag: "Started", at: start, pid: one, role: "contender" })
      const lock = begin + about(70) * unit
      happenings.push({ _tag: "Step", at: lock, pid: one, step: "before-lock" })
      if (one === owner) continue
      happenings.push({ _tag: "Ended", at: lock + about(30) * unit, pid: one, code: 0 })
    }
    const log = (at: number, level: string, text: string) =>
      happenings.push({
        _tag: "Log",
        at,
        pid: owner,
        text: `2031-04-01T09:00:${(at / 1000).toFixed(3).padStart(6, "0")}Z ${level} 4b1f9c2e ${text}`
      })
    const taken = begin + 90 * unit
    const steps = ["after-lock", "before-bind", "after-bind", "before-register", "after-register", "during-boot"]
    steps.forEach((step, index) => happenings.push({ _tag: "Step", at: taken + index * 9 * unit, pid: owner, step }))
    happenings.push(
      { _tag: "Locked", at: taken, pid: owner },
      { _tag: "Epoch", at: taken + 14 * unit, pid: owner, epoch: number },
      { _tag: "Status", at: taken + 50 * unit, pid: owner, status: "starting", detail: "opening the index" },
      { _tag: "Fenced", at: taken + 150 * unit, epoch: number },
      { _tag: "Status", at: taken + 240 * unit, pid: owner, status: "ready" }
    )
    seen("starting", taken + 60 * unit, "opening the index")
    seen("ready", taken + 250 * unit)
    log(taken + 52 * unit, "INFO", "starting hello 1.0.0 at http://127.0.0.1:41873")
    log(taken + 235 * unit, "INFO", "the index has 12 804 files")
    log(taken + 241 * unit, "INFO", "ready")
    for (let at = taken + 400 * unit; at < number * reign - 200 * unit; at += about(reign / 6)) {
      log(at, "DEBUG", `answered a search in ${Math.ceil(roll() * 40)} ms`)
    }
    if (number === reigns) {
      const stop = durationMs - 180 * unit
      happenings.push(
        { _tag: "Signal", at: stop, pid: owner, signal: "SIGTERM" },
        { _tag: "Status", at: stop + 8 * unit, pid: owner, status: "stopping" },
        { _tag: "Step", at: stop + 20 * unit, pid: owner, step: "during-drain" },
        { _tag: "Unlocked", at: stop + 110 * unit, pid: owner },
        { _tag: "Ended", at: stop + 120 * unit, pid: owner, code: 0 }
      )
      log(stop + 9 * unit, "INFO", "stopping: asked by SIGTERM")
      seen("stopping", stop + 10 * unit)
      seen("missing", stop + 130 * unit)
    } else {
      const end = number * reign
      if (number % 2 === 0) {
        happenings.push({ _tag: "Fault", at: end - 160 * unit, pid: owner, text: "the disk is full" })
        log(end - 150 * unit, "ERROR", "cannot write </script><script>alert(1)</script> & <b>more</b>")
      }
      happenings.push(
        { _tag: "Signal", at: end, pid: owner, signal: "SIGKILL" },
        { _tag: "Ended", at: end + 5 * unit, pid: owner, code: null }
      )
      seen("unreachable", end + 10 * unit)
    }
  }
  return {
    title: `${contenders} contenders: one owns, and one succeeds each that is killed`,
    ...(failure === undefined ? {} : { failure }),
    durationMs,
    happenings: happenings.sort((a, b) => a.at - b.at)
  }
}

const names = ["status line", "search", "watch mode", "editor"]
const clientName = (index: number): string =>
  index < names.length ? names[index]! : `${names[index % names.length]} ${Math.floor(index / names.length) + 1}`

/** Of so many lanes: processes, clients, the test, the fence. */
export const storyOfLanes = (lanes: number): Timeline => {
  switch (lanes) {
    case 2:
      return {
        ...story({ contenders: 1, clients: 0, kills: 0, durationMs: 2400 }),
        title: "one contender becomes the owner"
      }
    case 10:
      return story({ contenders: 6, clients: 2, kills: 1, durationMs: 4200 })
    case 30:
      return story({
        contenders: 24,
        clients: 4,
        kills: 2,
        durationMs: 9000,
        failure: "Waited too long until an owner is registered.\nmore"
      })
    default:
      return story({ contenders: lanes - 8, clients: 6, kills: 4, durationMs: 600_000 })
  }
}

const hostile = [
  "</script><script>alert(1)</script>",
  `"><img src=x onerror='alert(1)'>`,
  "<!-- & -- ]]> &amp; &#0;",
  "\u001b[31mred\u0000\u202e",
  "https://example.org/a?b=c url(//x)",
  "two\nlines\r\nand\ttabs",
  "",
  "constructor",
  "x".repeat(2000),
  "日本語 👩‍🚀 \ud800"
]

/** Anything at all, in any order, of any pid, with texts that mean harm. */
export const anyStory = (seed: number): Timeline => {
  const roll = dice(seed + 17)
  roll()
  const one = <A>(values: ReadonlyArray<A>): A => values[Math.floor(roll() * values.length)]!
  const any = (): Happening => {
    const at = one([0, roll() * 1000, roll() * 1000, roll() * 1000, 500, -20, Number.NaN, Infinity, 2000 * roll()])
    const pid = one([1, 2, 3, 4, 77])
    const text = one(hostile)
    const status = one(["starting", "ready", "stopping", "failed", "missing", text])
    const detail = roll() < 0.5 ? {} : { detail: text }
    const about = roll() < 0.5 ? {} : { pid }
    return one<() => Happening>([
      () => ({ _tag: "Started", at, pid, role: one(["contender", text]) }),
      () => ({ _tag: "Ended", at, pid, code: one([0, 70, null]) }),
      () => ({ _tag: "Step", at, pid, step: one(["after-lock", text]) }),
      () => ({ _tag: one(["Locked", "Unlocked"]), at, pid }),
      () => ({ _tag: "Epoch", at, pid, epoch: one([1, 2, 3]) }),
      () => ({ _tag: "Fenced", at, epoch: one([1, 2, 3]) }),
      () => ({ _tag: "Status", at, pid, status, ...detail }),
      () => ({ _tag: "Seen", at, client: one(["a", text]), status, ...detail }),
      () => ({ _tag: "Signal", at, pid, signal: one(["SIGKILL", "SIGSTOP", text]) }),
      () => ({ _tag: "Fault", at, text, ...about }),
      () => ({ _tag: "Log", at, text, ...about }),
      () => ({ _tag: "Note", at, text })
    ])()
  }
  return {
    title: one(hostile),
    ...(roll() < 0.5 ? {} : { failure: one(hostile) }),
    durationMs: one([0, 1000, 5, Number.NaN]),
    happenings: Array.from({ length: Math.floor(roll() * 80) }, any)
  }
}
