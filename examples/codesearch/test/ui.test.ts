/** The user interface without a terminal: what keys and events make of its state, and its state as lines. */
import type { ServiceState } from "@holdfast/client/ServiceState"
import { assert, describe, it } from "vitest"
import type { Hit, Root } from "../src/api.ts"
import { hitsIn, otherWords, rootsEventIn, troubleIn } from "../src/ui/answers.ts"
import { keyOf } from "../src/ui/keys.ts"
import { plain } from "../src/ui/plain.ts"
import { found, lineWidth } from "../src/ui/spans.ts"
import { chosen, type Event, initial, isAnswered, type Key, questionOf, reduce, type State } from "../src/ui/State.ts"
import { isRestartable, statusOf } from "../src/ui/status.ts"
import { cutEnd, cutMiddle, printable, widthOf } from "../src/ui/text.ts"
import { screen, wrapped } from "../src/ui/view.ts"
import { wanted } from "../src/ui/wanted.ts"

const registration = { schema: 1, instanceID: "one", version: "0.1.0", url: "http://127.0.0.1:1", pid: 7 } as const
const service = (status: NonNullable<ServiceState["health"]>["status"], version = "0.1.0"): ServiceState => ({
  status,
  registration: { ...registration, version },
  health: { healthy: true, version, pid: 7, instanceID: "one", status }
})
const ready = service({ type: "ready" })
const missing: ServiceState = { status: { type: "missing" }, registration: null, health: null }
const deaf: ServiceState = { status: { type: "unresponsive" }, registration, health: null }

const start = initial({ directory: "/home/me/project", standalone: false, service: ready })

const hit = (file: string, line: number, text = "a HeldLock here"): Hit => {
  const at = text.indexOf("HeldLock")
  return { file, line, column: at + 1, text, matches: [{ start: at, end: at + "HeldLock".length }] }
}

const after = (state: State, ...events: ReadonlyArray<Event>): State => events.reduce(reduce, state)
const key = (name: Exclude<Key["name"], "text">): Event => ({ type: "Key", key: { name } })
const typed = (text: string, pasted = false): Event => ({ type: "Key", key: { name: "text", text, pasted } })
const answered = (state: State, hits: ReadonlyArray<Hit>): State =>
  reduce(state, { type: "Answered", question: questionOf(state), hits })

const asked = after(start, typed("HeldLock"))
const three = [hit("/home/me/project/a.ts", 1), hit("/home/me/project/b.ts", 2), hit("/elsewhere/c.ts", 3)]

describe("the state of the user interface", () => {
  it("typing edits the query; what was found stays until the next answer", () => {
    const state = after(answered(asked, three), typed("s"))
    assert.strictEqual(state.query, "HeldLocks")
    assert.isFalse(isAnswered(state))
    assert.lengthOf(state.hits, 3)
    assert.isTrue(isAnswered(after(state, key("backspace"))))
  })

  it("an empty query has no results, and a question too long is not asked", () => {
    const empty = after(answered(asked, three), key("line"))
    assert.deepStrictEqual([empty.query, empty.hits, chosen(empty)], ["", [], undefined])
    assert.strictEqual(after(asked, typed("x".repeat(300))).query, "HeldLock")
  })

  it("control characters in what is pasted are left out, and a character is erased as a person counts it", () => {
    assert.strictEqual(after(start, typed("a\r\n\u001b[31mb", true)).query, "a[31mb")
    assert.strictEqual(after(start, typed("a👩‍👩‍👧"), key("backspace")).query, "a")
    assert.strictEqual(after(start, typed("one two "), key("word")).query, "one ")
  })

  it("whoever has chosen a line stays with it when others are found", () => {
    const second = after(answered(asked, three), key("down"))
    const more = answered(second, [hit("/home/me/project/0.ts", 9), ...three])
    assert.deepStrictEqual([more.selected, chosen(more)?.file], [2, "/home/me/project/b.ts"])
    const fewer = answered(after(second, key("pageDown")), three.slice(0, 1))
    assert.strictEqual(fewer.selected, 0)
    assert.strictEqual(answered(answered(asked, three), [hit("/a", 1), ...three]).selected, 0)
  })

  it("Escape clears the query, then leaves; Ctrl-C leaves at once", () => {
    const cleared = after(asked, key("escape"))
    assert.deepStrictEqual([cleared.query, cleared.leaving], ["", false])
    assert.isTrue(after(cleared, key("escape")).leaving)
    assert.isTrue(after(asked, key("quit")).leaving)
  })

  it("Tab asks only in the directory of the terminal", () => {
    assert.deepStrictEqual(questionOf(after(asked, key("tab"))), { query: "HeldLock", dir: "/home/me/project" })
    assert.deepStrictEqual(questionOf(after(asked, key("tab"), key("tab"))), { query: "HeldLock", dir: undefined })
  })

  it("directories come, change and go with what the service says", () => {
    const [one, two] = ["/b", "/a"].map((path): Root => ({ path, indexed: 1, total: 1, state: "watching" }))
    const state = after(
      start,
      { type: "Roots", event: { type: "current", roots: [one!] } },
      { type: "Roots", event: { type: "changed", root: two! } }
    )
    assert.deepStrictEqual(state.roots, [two!, one!])
    assert.deepStrictEqual(after(state, { type: "Roots", event: { type: "removed", path: "/b" } }).roots, [two!])
  })
})

describe("restarting the service", () => {
  const unresponsive = after(asked, { type: "Service", service: deaf })

  it("r is a letter while all is well, and asks when the owner does not respond", () => {
    assert.strictEqual(after(asked, typed("r")).query, "HeldLockr")
    const state = after(unresponsive, typed("r"))
    assert.deepStrictEqual([state.restart, state.query], ["asked", "HeldLock"])
    assert.strictEqual(after(state, typed("y")).restart, "running")
    assert.strictEqual(after(state, key("enter")).restart, "running")
    for (const no of [typed("n"), key("escape")])
      assert.deepStrictEqual([after(state, no).restart, after(state, no).query], ["no", "HeldLock"])
  })

  it("whoever was typing loses no letter, and asks with Escape first", () => {
    const typing = after(unresponsive, typed("r"), typed("e"))
    assert.deepStrictEqual([typing.restart, typing.query, typing.typing], ["no", "HeldLockre", true])
    assert.strictEqual(after(typing, typed("r")).query, "HeldLockrer")
    assert.strictEqual(after(typing, key("escape"), typed("r")).restart, "asked")
    assert.strictEqual(after(unresponsive, typed("r", true)).query, "HeldLockr")
  })

  it("the question goes when the owner answers again", () => {
    assert.strictEqual(after(unresponsive, typed("r"), { type: "Service", service: ready }).restart, "no")
  })

  it("a restart that failed is said until the next key or the next state", () => {
    const trouble = { message: "CodeSearch (PID 7) is still running.", action: "" }
    const state = after(unresponsive, typed("r"), typed("y"), { type: "Restarted", trouble })
    assert.strictEqual(statusOf(state).text, trouble.message)
    assert.include(statusOf(after(state, { type: "Service", service: ready })).text, "is ready.")
  })

  it("nothing is to be restarted in this process, or while all is well", () => {
    assert.isFalse(isRestartable(asked))
    assert.isFalse(isRestartable({ ...unresponsive, standalone: true }))
  })
})

describe("the status line", () => {
  const start = { message: "Port 4567 is in use by another program.", action: "Stop that program." }
  const failing = (state: ServiceState) => after(asked, { type: "Service", service: state }, about("start", start))
  const about = (about: keyof State["troubles"], trouble: typeof start): Event => ({ type: "Trouble", about, trouble })

  it("says what stands in the way of a service that is not there, and leaves the word to one that is", () => {
    assert.strictEqual(statusOf(failing(missing)).text, start.message)
    assert.strictEqual(statusOf(failing(service({ type: "starting" }))).text, "Starting CodeSearch v0.1.0…")
    const failed = service({ type: "failed", message: "No index.", action: "Make one." })
    assert.deepInclude(statusOf(failing(failed)), { text: "No index.", action: "Make one." })
  })

  it("keeps to one line whatever it is told, and names the version that runs", () => {
    const lines = { message: "two\nlines\u001b[2J", action: "do\rthis" }
    const { action, text } = statusOf(after(asked, about("search", lines)))
    assert.notMatch(`${text}${action}`, /[\u0000-\u001f]/)
    assert.strictEqual(
      statusOf(after(asked, { type: "Service", service: service({ type: "ready" }, "0.2.0") })).version,
      "0.2.0"
    )
  })

  it("shows what to do in full, and cuts what is wrong where there is no place for both", () => {
    const [text, action] = [`The index in /home/${"x".repeat(300)}/index cannot be opened.`, "Make it a directory."]
    const lines = wrapped(text, action, 60, 2)
    assert.lengthOf(lines, 2)
    assert.isTrue(lines.join(" ").endsWith(action), lines.join("\n"))
    for (const line of lines) assert.isAtMost(widthOf(line), 60)
  })
})

/** Texts that break layouts. */
const odd = [
  "HeldLock",
  `${"\t".repeat(30)}HeldLock`,
  `${"広".repeat(200)}HeldLock${"広".repeat(200)}`,
  "🎉👩‍👩‍👧🇩🇪 HeldLock 👍🏽",
  "\u001b[31mHeldLock\u001b[2J\u0007",
  "\u202eHeldLock\u2066",
  "é".repeat(100) + "HeldLock",
  "\ud800HeldLock"
]

const states: ReadonlyArray<readonly [string, State]> = (() => {
  const many = odd.map((text, index) =>
    hit(`/home/me/project/${"長い名前".repeat(index * 3)}/f${index}.ts`, index + 1, text)
  )
  const full = answered(asked, many)
  const preview = { file: many[2]!.file, line: 3, from: 1, lines: odd }
  const roots: ReadonlyArray<Root> = [
    { path: "/home/me/project", indexed: 5, total: 4000, state: "indexing" },
    { path: `/${"深い/".repeat(60)}`, indexed: 1, total: 1, state: "watching", message: "Slowly.\u001b[1m" },
    { path: "/gone", indexed: 0, total: 0, state: "failed", message: "It is not there." },
    ...Array.from({ length: 9 }, (_, n): Root => ({ path: `/r${n}`, indexed: 0, total: 0, state: "scanning" }))
  ]
  const busy = after(
    full,
    key("down"),
    key("down"),
    { type: "Previewed", preview },
    { type: "Roots", event: { type: "current", roots } }
  )
  return [
    ["empty", start],
    ["nothing found", answered(asked, [])],
    ["full", busy],
    ["unresponsive", after(busy, { type: "Service", service: deaf })],
    ["asked", after(busy, { type: "Service", service: deaf }, typed("r"))],
    ["a long query", after(start, typed("広い".repeat(100)))],
    ["standalone, only here", after({ ...busy, standalone: true }, key("tab"))]
  ]
})()

describe("the screen", () => {
  for (const [what, state] of states) {
    it(`fills every row to its last column, whatever is on it: ${what}`, () => {
      for (const size of [
        [80, 24],
        [200, 50],
        [120, 30],
        [119, 40],
        [40, 10],
        [20, 5],
        [10, 2]
      ] as const) {
        const [columns, rows] = size
        const { cursor, lines } = screen(state, { columns, rows })
        assert.isAtMost(lines.length, rows)
        if (rows >= 5) assert.lengthOf(lines, rows)
        for (const line of lines) {
          const text = line.map(({ text }) => text).join("")
          assert.strictEqual(lineWidth(line), columns, JSON.stringify(text))
          assert.notMatch(text, /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
        }
        assert.isBelow(cursor.x, columns)
      }
    })
  }

  it("keeps each part in its row, whatever the service and its directories do", () => {
    const rowsOf = (state: State) => {
      const lines = screen(state, { columns: 80, rows: 24 }).lines.map((line) => line.map(({ text }) => text).join(""))
      return ["── ", "── indexed", "choose"].map((part) => lines.findIndex((line) => line.includes(part)))
    }
    for (const [, state] of states.filter(([what]) => what !== "asked"))
      assert.deepStrictEqual(rowsOf(state), rowsOf(start))
  })

  it("shows the match of a long line, and marks it", () => {
    const text = `${"x".repeat(300)} HeldLock ${"y".repeat(300)}`
    const line = found(hit("/a", 1, text), 42)
    assert.deepStrictEqual(
      line.filter(({ tone }) => tone === "match").map(({ text }) => text),
      ["HeldLock"]
    )
    const before = line.slice(
      0,
      line.findIndex(({ tone }) => tone === "match")
    )
    assert.isBelow(lineWidth(before) + "HeldLock".length, 42)
  })

  it("in plain lines draws nothing, and fits the terminal", () => {
    for (const [, state] of states) {
      const lines = plain(state, { columns: 80, rows: 24 })
      assert.isAtMost(
        lines.reduce((sum, line) => sum + Math.max(Math.ceil(widthOf(line) / 80), 1), 0),
        24
      )
      assert.notMatch(lines.join("\n"), /[\u2500-\u25ff●✗]|\u001b/)
    }
  })
})

describe("text", () => {
  it("is cut to a width without half a character, a path in its middle", () => {
    assert.strictEqual(cutMiddle("src/a/very/long/path/name.ts", 15), "src/…th/name.ts")
    for (const text of odd.map(printable)) {
      for (let width = 0; width < 20; width++) {
        assert.isAtMost(widthOf(cutMiddle(text, width)), width)
        assert.isAtMost(widthOf(cutEnd(text, width)), width)
      }
    }
  })
})

describe("what is asked for and what is answered", () => {
  const terminal = { stdin: { isTTY: true }, stdout: { isTTY: true }, env: {} }

  it("the user interface opens in a terminal, without a command", () => {
    assert.deepStrictEqual(wanted([], terminal), { directory: ".", standalone: false, plain: false })
    assert.deepStrictEqual(wanted(["--standalone", "--dir", "/x", "--plain"], terminal), {
      directory: "/x",
      standalone: true,
      plain: true
    })
    assert.isTrue(wanted([], { ...terminal, env: { TERM: "dumb" } })?.plain)
    for (const args of [["search", "x"], ["service", "status"], ["--help"], ["--dir"]])
      assert.isUndefined(wanted(args, terminal))
    assert.isUndefined(wanted([], { ...terminal, stdin: {} }))
    assert.isUndefined(wanted([], { ...terminal, stdout: { isTTY: false } }))
  })

  it("a key of the terminal is what it means here, or nothing", () => {
    assert.deepStrictEqual(keyOf("x", {}), { name: "text", text: "x" })
    assert.deepStrictEqual(keyOf("c", { ctrl: true }), { name: "quit" })
    assert.deepStrictEqual(keyOf("", { delete: true }), { name: "backspace" })
    assert.isUndefined(keyOf("x", { meta: true }))
    assert.isUndefined(keyOf("", { leftArrow: true }))
  })

  it("an answer in other words is said, and shown as nothing else", () => {
    assert.deepStrictEqual(hitsIn(three), three)
    for (const other of [undefined, {}, [1], [{ ...three[0], matches: [{}] }]]) assert.isUndefined(hitsIn(other))
    assert.isUndefined(rootsEventIn({ type: "changed", root: { path: 1 } }))
    assert.deepStrictEqual(rootsEventIn({ type: "removed", path: "/a" }), { type: "removed", path: "/a" })
    assert.deepStrictEqual(troubleIn({ message: "Full.", action: "Free some." }), {
      message: "Full.",
      action: "Free some."
    })
    assert.deepStrictEqual(troubleIn(new TypeError("undefined is not a function")), otherWords)
  })
})
