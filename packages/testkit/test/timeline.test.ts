import { assert, describe, it } from "@effect/vitest"
import { type Happening, type Timeline, toHtml, toText } from "@holdfast/testkit/Timeline"
import { lanesOf } from "../src/internal/lanes.ts"
import { ticks } from "../src/internal/ticks.ts"
import { anyStory, dice, story, storyOfLanes } from "./stories.ts"

const told = (happenings: ReadonlyArray<Happening>, durationMs = 1000): Timeline => ({
  title: "a story",
  durationMs,
  happenings
})
const laneOf = (timeline: Timeline, name: string) => lanesOf(timeline).lanes.find((lane) => lane.name === name)!
const many = Array.from({ length: 80 }, (_, seed) => anyStory(seed))

const owner: ReadonlyArray<Happening> = [
  { _tag: "Started", at: 0, pid: 7, role: "contender" },
  { _tag: "Locked", at: 100, pid: 7 },
  { _tag: "Epoch", at: 150, pid: 7, epoch: 1 },
  { _tag: "Status", at: 200, pid: 7, status: "starting", detail: "one" },
  { _tag: "Status", at: 250, pid: 7, status: "starting", detail: "two" },
  { _tag: "Status", at: 300, pid: 7, status: "ready" }
]
const ended: Happening = { _tag: "Ended", at: 600, pid: 7, code: null }

describe("the lanes of a timeline", () => {
  it("a process is there from its start to its end; one that never ended reaches the end of the story", () => {
    const { from, to } = laneOf(told([...owner, ended]), "7")
    assert.deepStrictEqual([from, to], [0, 600])
    const open = laneOf(told(owner), "7")
    assert.deepStrictEqual([open.to, open.ending], [1000, undefined])
  })

  it("a status lasts until the next one, the last until the end; its progress is one span", () => {
    const { status } = laneOf(told([...owner, ended]), "7")
    assert.deepStrictEqual(
      status.map(({ from, name, to }) => [name, from, to]),
      [
        ["starting", 200, 300],
        ["ready", 300, 600]
      ]
    )
    assert.deepStrictEqual(
      status[0]!.details.map(({ text }) => text),
      ["one", "two"]
    )
  })

  it("the lock and the epoch are held until they are lost; an epoch of another process ends one's own", () => {
    const { held } = laneOf(told([...owner, { _tag: "Epoch", at: 400, pid: 8, epoch: 2 }]), "7")
    assert.deepStrictEqual(
      held.map(({ from, name, to }) => [name, from, to]),
      [
        ["lock", 100, 150],
        ["lock · epoch 1", 150, 400],
        ["lock", 400, 1000]
      ]
    )
    const lost = laneOf(told([...owner, { _tag: "Unlocked", at: 500, pid: 7 }]), "7").held
    assert.deepStrictEqual(lost.at(-1)!.name, "epoch 1")
  })

  it("how a process ended: by its code, else by the signal it was sent, else nobody knows", () => {
    const endingOf = (code: number | null, ...more: ReadonlyArray<Happening>) =>
      laneOf(told([...owner, ...more, { _tag: "Ended", at: 600, pid: 7, code }]), "7").ending!.text
    const sent = (signal: string): Happening => ({ _tag: "Signal", at: 500, pid: 7, signal })
    assert.deepStrictEqual(
      [endingOf(0), endingOf(70), endingOf(null), endingOf(null, sent("SIGKILL")), endingOf(null, sent("SIGSTOP"))],
      ["exit 0", "exit 70", "gone", "SIGKILL", "gone"]
    )
  })

  it("a pid that starts again after its end is another process", () => {
    const again: ReadonlyArray<Happening> = [
      { _tag: "Started", at: 700, pid: 7, role: "successor" },
      { _tag: "Log", at: 800, pid: 7, text: "hello" }
    ]
    const { lanes } = lanesOf(told([...owner, ended, ...again]))
    assert.deepStrictEqual(
      lanes.map(({ marks, role, status }) => [role, status.length, marks.length]),
      [
        ["contender", 2, 0],
        ["successor", 0, 1]
      ]
    )
  })

  it("what comes first: the test, then processes in order of start, then clients", () => {
    const { lanes } = lanesOf(
      told([
        { _tag: "Seen", at: 1, client: "c", status: "missing" },
        { _tag: "Started", at: 9, pid: 2, role: "contender" },
        { _tag: "Started", at: 5, pid: 3, role: "contender" },
        { _tag: "Note", at: 8, text: "released" }
      ])
    )
    assert.deepStrictEqual(
      lanes.map(({ name }) => name),
      ["test", "3", "2", "c"]
    )
  })

  it("log lines of a process that nobody knows have a lane of their own, and make no process", () => {
    const { lanes } = lanesOf(told([...owner, { _tag: "Log", at: 9, pid: 99, text: "who?" }]))
    assert.deepStrictEqual(
      lanes.map(({ kind, marks }) => [kind, marks.length]),
      [
        ["log", 1],
        ["process", 0]
      ]
    )
  })

  it("signals and faults go across all lanes, and stand in the lanes of the test and of their process", () => {
    const all = lanesOf(told([...owner, { _tag: "Signal", at: 500, pid: 7, signal: "SIGSTOP" }]))
    assert.deepStrictEqual(
      all.lines.map(({ text }) => text),
      ["SIGSTOP 7"]
    )
    assert.deepStrictEqual(
      all.lanes.map(({ marks }) => marks.length),
      [1, 1]
    )
  })

  it("the order in which happenings of different moments are given changes nothing", () => {
    const timeline = storyOfLanes(10)
    const roll = dice(3)
    const at = (index: number) => ({ ...timeline.happenings[index]!, at: index })
    const ordered = timeline.happenings.map((_, index) => at(index))
    const shuffled = ordered.map((one) => ({ one, key: roll() })).sort((a, b) => a.key - b.key)
    assert.deepStrictEqual(lanesOf(told(shuffled.map(({ one }) => one))), lanesOf(told(ordered)))
  })

  it("whatever happens: no span is negative or outside its lane, none overlaps the next, and the last reaches the end", () => {
    for (const timeline of many) {
      const { from, lanes, to } = lanesOf(timeline)
      for (const lane of lanes) {
        assert.isAtLeast(lane.from, from)
        assert.isAtMost(lane.to, to)
        assert.isAtLeast(lane.to, lane.from)
        for (const spans of [lane.status, lane.held]) {
          spans.forEach((span, index) => {
            assert.isAtLeast(span.to, span.from, JSON.stringify(timeline))
            assert.isAtLeast(span.from, lane.from)
            assert.isAtMost(span.to, spans[index + 1]?.from ?? lane.to)
          })
        }
        const last = lane.status.at(-1)
        if (last !== undefined) assert.strictEqual(last.to, lane.to)
      }
    }
  })
})

describe("the time axis", () => {
  it("has from two to as many labels as it may, each different, for 0.2 s as for a day", () => {
    for (const to of [1, 7, 200, 999, 1000, 4200, 9999, 61_000, 600_000, 3_600_000, 86_400_000]) {
      const labels = ticks(0, to, 8).map(({ label }) => label)
      assert.strictEqual(new Set(labels).size, labels.length, `${labels}`)
      assert.isTrue(labels.length >= 2 && labels.length <= 9, `${to}: ${labels}`)
    }
  })
})

describe("a timeline as text", () => {
  const pictureOf = (timeline: Timeline) => toText(timeline).split("\n\n")[1]!.split("\n")

  it("whatever happens: the picture has at most 100 columns", () => {
    for (const timeline of [...many, storyOfLanes(2), storyOfLanes(30), storyOfLanes(60)]) {
      for (const line of pictureOf(timeline)) assert.isAtMost(line.length, 100, line)
    }
  })

  it("a short status is seen, next to a long one", () => {
    const row = pictureOf(storyOfLanes(60)).find((line) => line.startsWith("48219"))!
    assert.match(row, /-?sR+!x +SIGKILL$/)
  })

  it("many that only came and went are one row", () => {
    const picture = pictureOf(storyOfLanes(60)).join("\n")
    assert.include(picture, "and 47 more that never had the lock: 47 exit 0")
    assert.strictEqual(picture.match(/ contender /g)!.length, 5)
  })

  it("equal happenings that follow each other are one, of one process and of many", () => {
    const text = toText(
      told([
        ...[1, 2, 3].map((pid): Happening => ({ _tag: "Started", at: pid, pid, role: "contender" })),
        ...[4, 5].map((at): Happening => ({ _tag: "Step", at, pid: 1, step: "before-lock" }))
      ])
    )
    assert.include(text, "0.001 s  1, 2, 3 started as contender")
    assert.include(text, "0.004 s  1 before-lock (2 times, until 0.005 s)")
  })

  it("a long story leaves out its middle and says how much; the last happenings and the end of the log stay", () => {
    const long = told(
      Array.from({ length: 500 }, (_, at): Happening[] => [
        { _tag: "Note", at, text: `note ${at}.` },
        { _tag: "Log", at, text: `line ${at}.` }
      ]).flat()
    )
    const text = toText(long)
    const list = text.slice(text.indexOf("What happened"))
    const shown = list.match(/note \d+\./g)!
    assert.include(list, `… ${500 - shown.length} more, until`)
    assert.strictEqual(shown.at(-1), "note 499.")
    assert.include(list, "The log, without its first 470 lines:")
    assert.isTrue(text.endsWith("line 499."))
    assert.isBelow(text.split("\n").length, 130)
  })

  it("writes out what would move a terminal's cursor", () => {
    const text = toText(told([{ _tag: "Log", at: 1, text: "a\u001b[2Jb\rc\u202ed" }]))
    assert.include(text, "a\\u001b[2Jb\\u000dc\\u202ed")
  })

  it("says how it ended, and what a story of nothing is", () => {
    assert.include(toText({ ...told([]), failure: "Waited too long.\nmore" }), "a story: Waited too long.\n")
    assert.include(toText(told([])), "Nothing happened.")
    assert.include(
      toText(story({ contenders: 3, clients: 1, kills: 0, durationMs: 900 })),
      "0.900 s, 3 processes, 1 client"
    )
  })
})

describe("a timeline as HTML", () => {
  const tag = /<(\/?)([a-z][a-z0-9]*)((?: [a-z-]+(?:="[^"]*")?)*)>/g
  const bodyOf = (page: string) => page.replace("<!doctype html>\n", "").replace(/<style>[^<]*<\/style>/, "")

  it("whatever happens: it is well formed, and nothing that was said is markup", () => {
    for (const timeline of many) {
      const body = bodyOf(toHtml(timeline))
      const open: Array<string> = []
      for (const [, end, name] of body.matchAll(tag)) {
        if (name === "meta") continue
        if (end === "") open.push(name!)
        else assert.strictEqual(open.pop(), name)
      }
      assert.deepStrictEqual(open, [])
      assert.notMatch(body.replaceAll(tag, ""), /[<>]/)
      assert.notMatch(body, /<(script|img|link|iframe|object|a|form|base|svg)\b/)
    }
  })

  it("whatever happens: every happening is a row of the table, in order, with its text", () => {
    const text = (html: string) =>
      html
        .replaceAll("&lt;", "<")
        .replaceAll("&gt;", ">")
        .replaceAll("&quot;", '"')
        .replaceAll("&#39;", "'")
        .replaceAll("&amp;", "&")
    for (const timeline of many) {
      const rows = toHtml(timeline).match(/<tr class=.*?<\/tr>/gs) ?? []
      assert.strictEqual(rows.length, timeline.happenings.length)
      const sorted = lanesOf(timeline).happenings
      rows.forEach((row, index) => {
        const one = sorted[index]!
        assert.include(row, `<td>${one._tag}</td>`)
        if ("text" in one) assert.include(text(row), one.text.slice(0, 5).replace("\u001b", "\\u001b"))
      })
    }
  })

  it("whatever happens: it names nothing outside itself, and its policy forbids it", () => {
    const allowed =
      /^(lang|charset|http-equiv|content|name|class|style|title|tabindex|role|scope|aria-label|aria-hidden)$/
    for (const timeline of [...many, storyOfLanes(60)]) {
      const page = toHtml(timeline)
      const sheet = /<style>([^<]*)<\/style>/.exec(page)![1]!
      assert.notMatch(sheet, /url\(|@import|https?:|\/\/|image-set|src/)
      for (const [, , , attributes] of bodyOf(page).matchAll(tag)) {
        for (const [, name, value] of attributes!.matchAll(/ ([a-z-]+)(?:="([^"]*)")?/g)) {
          assert.match(name!, allowed)
          if (name === "style") assert.match(value!, /^[a-z0-9:;%.-]*$/)
        }
      }
      assert.include(page, `http-equiv="Content-Security-Policy" content="default-src 'none';`)
    }
    const quiet = { ...storyOfLanes(60), happenings: storyOfLanes(60).happenings.filter(({ _tag }) => _tag !== "Log") }
    assert.notMatch(toHtml(quiet), /https?:|\/\/|url\(/)
  })

  it("says how it ended, how long it took and how many took part", () => {
    const page = toHtml({ ...storyOfLanes(10), failure: "Waited <too> long.\nmore" })
    assert.include(page, '<p class="failure">Waited &lt;too&gt; long.</p>')
    for (const said of ["4.200 s", "6 processes", "2 clients"]) assert.include(page, `<span>${said}</span>`)
    assert.notInclude(toHtml(storyOfLanes(10)), 'class="failure"')
  })
})
