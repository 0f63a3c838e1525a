/** A timeline as one HTML file. */
import type { Timeline } from "../Timeline.ts"
import { describe, seconds } from "./happenings.ts"
import { type Lanes, lanesOf, letterOf } from "./lanes.ts"
import { escape } from "./markup.ts"
import { counted, outcome } from "./outcome.ts"
import { chart } from "./timelineChart.ts"
import { style } from "./timelineStyle.ts"

// nothing but the style below: a log line cannot load, run or send anything
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

export const html = (timeline: Timeline): string => {
  const all = lanesOf(timeline)
  const passed = timeline.failure === undefined
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(`${timeline.title}: ${outcome(timeline)}`)}</title>
<style>${style}</style>
</head>
<body>
<main>
<header>
<h1>${escape(timeline.title)}</h1>
<p class="facts"><span class="outcome ${passed ? "passed" : "failed"}">${passed ? "passed" : "failed"}</span>${[
    seconds(timeline.durationMs),
    ...counted(all.lanes)
  ]
    .map((fact) => `<span>${escape(fact)}</span>`)
    .join("")}</p>
${passed ? "" : `<p class="failure">${escape(outcome(timeline))}</p>`}
</header>
<figure aria-label="What happened, as lanes over time. The table below says the same in words.">
${legend(all)}
${chart(all)}
<figcaption>${escape(ownersOf(all))}</figcaption>
</figure>
${table(all)}
</main>
</body>
</html>
`
}

/** Who had the lock, and when: what most stories are about. */
const ownersOf = ({ lanes }: Lanes): string => {
  const owners = lanes.flatMap(({ held, name }) =>
    held.filter(({ tone }) => tone === "lock").map(({ from, name: what, to }) => ({ from, to, name, what }))
  )
  const joined = owners.reduce<ReadonlyArray<(typeof owners)[number]>>((sum, one) => {
    const last = sum.at(-1)
    return last?.name === one.name && last.to === one.from
      ? [...sum.slice(0, -1), { ...one, from: last.from }]
      : [...sum, one]
  }, [])
  if (joined.length === 0) return "Nobody was seen to have the lock."
  const said = joined
    .slice(0, 8)
    .map(
      ({ from, name, to, what }) =>
        `${name} (${seconds(from)} to ${seconds(to)}${what.replace("lock · ", ", ").replace(/^lock$/, "")})`
    )
  return `The lock was held by ${said.join(", ")}${joined.length > 8 ? ` and ${joined.length - 8} more` : ""}.`
}

const statuses = ["starting", "ready", "stopping", "failed", "unresponsive", "unreachable", "missing"]

/** Only what the chart has. */
const legend = ({ lanes }: Lanes): string => {
  const own = lanes.filter(({ kind }) => kind !== "fence").flatMap(({ status }) => status.map(({ name }) => name))
  const used = [...new Set([...statuses.filter((status) => own.includes(status)), ...own])]
  const held = new Set(lanes.flatMap((lane) => lane.held.map(({ tone }) => tone)))
  const marks = new Set(lanes.flatMap((lane) => lane.marks.map(({ kind }) => kind)))
  const endings = lanes.flatMap(({ ending }) => (ending === undefined ? [] : [ending.well]))
  const key = (sign: string, name: string) => `<li>${sign}${escape(name)}</li>`
  const swatch = (tone: string, letter: string) => `<span class="swatch t-${tone}">${escape(letter)}</span>`
  const sign = (name: string) => `<span class="sign"><span class="mark m-${name}"><i></i></span></span>`
  return `<ul class="legend" aria-label="Legend">${[
    ...used.map((name) => key(swatch(statuses.includes(name) ? name : "other", letterOf(name)), name)),
    ...(held.has("lock") ? [key(swatch("lock", "1"), "lock held, epoch")] : []),
    ...(held.has("epoch") ? [key(swatch("epoch", "1"), "epoch without the lock")] : []),
    ...(["step", "log", "note", "signal", "fault"] as const)
      .filter((kind) => marks.has(kind))
      .map((kind) => key(sign(kind), kind === "log" ? "log line" : kind)),
    ...(endings.includes(true)
      ? [key('<span class="sign"><span class="life well"></span></span>', "ended with 0")]
      : []),
    ...(endings.includes(false)
      ? [key('<span class="sign"><span class="life ill"></span></span>', "ended otherwise")]
      : [])
  ].join("")}</ul>`
}

const table = ({ happenings }: Lanes): string => {
  const rows = happenings.map((one) => {
    const { what, who } = describe(one)
    return `<tr class="k-${one._tag.toLowerCase()}"><td>${seconds(one.at)}</td><td>${escape(who)}</td><td>${one._tag}</td><td>${escape(what)}</td></tr>`
  })
  return `<details><summary>Everything that happened, in order (${happenings.length})</summary>
<div class="scroll"><table><thead><tr><th scope="col">time</th><th scope="col">who</th><th scope="col">kind</th><th scope="col">what</th></tr></thead><tbody>
${rows.join("\n")}
</tbody></table></div></details>`
}
