import { assert, describe, it } from "@effect/vitest"
import { type Timeline, toHtml } from "@holdfast/testkit/Timeline"
import { Context, Effect, Layer } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import type { Page } from "playwright-core"
import { executable, open, type Opened } from "./browser.ts"
import { contrast, type Rgb } from "./colours.ts"
import { anyStory, story, storyOfLanes } from "./stories.ts"

class Chromium extends Context.Service<Chromium, Opened>()("test/Chromium") {
  static readonly layer = Layer.effect(Chromium, open)
}

interface Measured {
  readonly overflow: number
  readonly overflowInside: ReadonlyArray<number>
  readonly overlaps: ReadonlyArray<string>
  readonly outside: ReadonlyArray<string>
  readonly pairs: ReadonlyArray<readonly [colour: Rgb, ground: Rgb]>
  readonly lanes: ReadonlyArray<{ readonly name: string; readonly whole: boolean }>
  readonly labels: number
  readonly hints: ReadonlyArray<string>
}

const script = fs.readFileSync(path.join(import.meta.dirname, "fixture/measureTimeline.js"), "utf8")
/** Hints are looked at one by one, which takes a while: at the least width, where they have the least room. */
const measure = (page: Page, options?: { readonly hints: boolean }) =>
  Effect.promise(() => page.evaluate(`${script};measure(${options?.hints === true})`) as Promise<Measured>)

/** The page of a story, opened from a disk; what it asked for and what it complained of. */
const shown = Effect.fnUntraced(function* (timeline: Timeline) {
  const { directory, page } = yield* Chromium
  const file = path.join(directory, "timeline.html")
  fs.writeFileSync(file, toHtml(timeline))
  const requests: Array<string> = []
  const complaints: Array<string> = []
  page.removeAllListeners()
  page.on("request", (request) => requests.push(request.url()))
  page.on("pageerror", (error) => complaints.push(String(error)))
  page.on("console", (message) => complaints.push(message.text()))
  page.on("dialog", (dialog) => {
    complaints.push(dialog.message())
    void dialog.dismiss()
  })
  const address = pathToFileURL(file).href
  yield* Effect.promise(() => page.emulateMedia({ media: "screen", colorScheme: "light" }))
  yield* Effect.promise(() => page.goto(address))
  return { page, isQuiet: () => assert.deepStrictEqual([requests, complaints], [[address], []]) }
})

const looks = [900, 1280, 1900].flatMap((width) =>
  (["light", "dark"] as const).map((colorScheme) => ({ width, colorScheme }))
)

/** Whatever the width and scheme: nothing on top of anything else, nothing outside, everything readable. */
const isReadable = Effect.fnUntraced(function* (timeline: Timeline) {
  const { isQuiet, page } = yield* shown(timeline)
  for (const { colorScheme, width } of looks) {
    yield* Effect.promise(() => page.emulateMedia({ colorScheme }))
    yield* Effect.promise(() => page.setViewportSize({ width, height: 700 }))
    const seen = yield* measure(page, { hints: width === 900 && colorScheme === "light" })
    const where = `${width} ${colorScheme}`
    assert.strictEqual(seen.overflow, 0, where)
    assert.isTrue(
      seen.overflowInside.every((by) => by === 0),
      `${where}: ${seen.overflowInside}`
    )
    assert.deepStrictEqual(seen.overlaps, [], where)
    assert.deepStrictEqual(seen.outside, [], where)
    assert.deepStrictEqual(seen.hints, [], where)
    assert.isAbove(seen.labels, 3, where)
    for (const [colour, ground] of seen.pairs) {
      assert.isAtLeast(contrast(colour, ground), 4.5, `${where}: ${colour} on ${ground}`)
    }
    assert.deepStrictEqual(
      seen.lanes.filter(({ whole }) => !whole),
      [],
      where
    )
  }
  isQuiet()
  return (yield* measure(page)).lanes.length
})

describe.skipIf(executable === undefined)("a timeline in a browser (needs chromium)", () => {
  it.layer(Chromium.layer, { excludeTestServices: true, timeout: "30 seconds" })((it) => {
    it.effect.each([2, 10, 30, 60])("of %i lanes can be read at every width, in light and in dark", (lanes) =>
      Effect.gen(function* () {
        assert.isAtLeast(yield* isReadable(storyOfLanes(lanes)), lanes)
      })
    )

    it.effect("of a fifth of a second, and of a fault every moment, can be read", () =>
      Effect.gen(function* () {
        yield* isReadable(story({ contenders: 4, clients: 2, kills: 0, durationMs: 200 }))
        const crowded = storyOfLanes(10)
        const faults = Array.from({ length: 60 }, (_, index) => ({
          _tag: "Fault" as const,
          at: index * 70,
          text:
            index % 2 === 0 ? "the disk is full" : "the network is gone and comes back much later than anybody thought"
        }))
        yield* isReadable({ ...crowded, happenings: [...crowded.happenings, ...faults] })
      })
    )

    it.effect("of texts that mean harm runs nothing, loads nothing and stays in its place", () =>
      Effect.gen(function* () {
        for (const seed of [1, 2, 3, 4]) {
          const { isQuiet, page } = yield* shown(anyStory(seed))
          yield* Effect.promise(() => page.setViewportSize({ width: 900, height: 700 }))
          const seen = yield* measure(page)
          assert.strictEqual(seen.overflow, 0)
          assert.deepStrictEqual(seen.overlaps, [])
          isQuiet()
        }
      })
    )

    it.effect("shows a mark's log line under the pointer, and with the keyboard alone", () =>
      Effect.gen(function* () {
        const { page } = yield* shown(storyOfLanes(10))
        const mark = page.locator(".lane .m-log:not(.many)").first()
        const tip = mark.locator(".tip")
        assert.isFalse(yield* Effect.promise(() => tip.isVisible()))
        yield* Effect.promise(() => mark.hover())
        assert.isTrue(yield* Effect.promise(() => tip.isVisible()))
        assert.include(yield* Effect.promise(() => tip.innerText()), "answered a search in")
        yield* Effect.promise(() => page.mouse.move(0, 0))
        assert.isFalse(yield* Effect.promise(() => tip.isVisible()))
        let presses = 0
        while (!(yield* Effect.promise(() => tip.isVisible())) && presses++ < 100) {
          yield* Effect.promise(() => page.keyboard.press("Tab"))
        }
        assert.isTrue(yield* Effect.promise(() => tip.isVisible()))
      })
    )

    it.effect("keeps the names of lanes in sight on a narrow screen, where the lanes scroll in their own box", () =>
      Effect.gen(function* () {
        const { page } = yield* shown(storyOfLanes(10))
        yield* Effect.promise(() => page.setViewportSize({ width: 500, height: 700 }))
        const seen = yield* measure(page)
        assert.strictEqual(seen.overflow, 0)
        assert.isAbove(seen.overflowInside[0]!, 100)
        yield* Effect.promise(() => page.locator(".scroll").first().evaluate("(box) => void (box.scrollLeft = 300)"))
        const box = yield* Effect.promise(() => page.locator(".lane .name").first().boundingBox())
        assert.isAtLeast(box!.x, 0)
        assert.isBelow(box!.x, 30)
      })
    )

    it.effect("prints light, with the table open and nothing cut off", () =>
      Effect.gen(function* () {
        const { page } = yield* shown(storyOfLanes(10))
        yield* Effect.promise(() => page.emulateMedia({ media: "print", colorScheme: "dark" }))
        yield* Effect.promise(() => page.setViewportSize({ width: 1000, height: 700 }))
        const seen = yield* measure(page)
        assert.strictEqual(seen.overflow, 0)
        assert.deepStrictEqual(seen.overlaps, [])
        assert.isTrue(yield* Effect.promise(() => page.locator("td").first().isVisible()))
        assert.isTrue(seen.pairs.every(([, ground]) => ground[0] + ground[1] + ground[2] > 0))
        const paper = yield* Effect.promise(() => page.pdf())
        assert.strictEqual(paper.subarray(0, 5).toString(), "%PDF-")
      })
    )
  })
})
