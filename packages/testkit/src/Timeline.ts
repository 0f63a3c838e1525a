/**
 * What happened in a test of many processes, as data; to be read as text or as one HTML file.
 *
 * @since 0.1.0
 */
import * as page from "./internal/timelineHtml.ts"
import * as picture from "./internal/timelineText.ts"

/**
 * One thing that happened. `at` is in milliseconds since the test began; `pid` names a process, `client` a client that
 * was followed.
 *
 * **Details** `Started`, `Ended`: a process was there, was gone; `code` is `null` after a signal or when nobody knows it.
 * `Step`: a named moment of an owner's life (`@holdfast/lock/step`). `Locked`, `Unlocked`: it was seen to hold the
 * service's lock. `Epoch`: the lease names it with that epoch; `Fenced`: the application's fence accepts that epoch.
 * `Status`: its lifecycle status, from its registration and health. `Seen`: the status a client saw. `Signal`, `Fault`:
 * what the test did. `Log`: a line of the service's log, of that process where the line says so. `Note`: anything else.
 *
 * What a process is in (`Locked`, `Epoch`, `Status`) lasts until the next such happening, at most until it ends. There is
 * one lease: an `Epoch` of one process ends that of every other.
 *
 * **Gotchas** A happening names a process by its pid alone. After `Ended`, only `Started` begins another life of a pid.
 *
 * @category models
 * @since 0.1.0
 */
export type Happening = { readonly at: number } & (
  | { readonly _tag: "Started"; readonly pid: number; readonly role: string }
  | { readonly _tag: "Ended"; readonly pid: number; readonly code: number | null }
  | { readonly _tag: "Step"; readonly pid: number; readonly step: string }
  | { readonly _tag: "Locked" | "Unlocked"; readonly pid: number }
  | { readonly _tag: "Epoch"; readonly pid: number; readonly epoch: number }
  | { readonly _tag: "Fenced"; readonly epoch: number }
  | { readonly _tag: "Status"; readonly pid: number; readonly status: string; readonly detail?: string }
  | { readonly _tag: "Seen"; readonly client: string; readonly status: string; readonly detail?: string }
  | { readonly _tag: "Signal"; readonly pid: number; readonly signal: string }
  | { readonly _tag: "Fault"; readonly text: string; readonly pid?: number }
  | { readonly _tag: "Log"; readonly text: string; readonly pid?: number }
  | { readonly _tag: "Note"; readonly text: string }
)

/**
 * A whole story: what it is about, how it ended (`failure`: the first line of what went wrong), how long it took in
 * milliseconds, and what happened. The order of `happenings` matters only among those of the same `at`.
 *
 * **Example**
 *
 * ```ts
 * import type { Timeline } from "@holdfast/testkit/Timeline"
 *
 * export const killed: Timeline = {
 *   title: "an owner that is killed has a successor",
 *   durationMs: 900,
 *   happenings: [
 *     { _tag: "Started", at: 0, pid: 4711, role: "contender" },
 *     { _tag: "Locked", at: 40, pid: 4711 },
 *     { _tag: "Status", at: 60, pid: 4711, status: "ready" },
 *     { _tag: "Signal", at: 500, pid: 4711, signal: "SIGKILL" },
 *     { _tag: "Ended", at: 503, pid: 4711, code: null }
 *   ]
 * }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Timeline {
  readonly title: string
  readonly failure?: string
  readonly durationMs: number
  readonly happenings: ReadonlyArray<Happening>
}

/**
 * The story as text of at most 100 columns: a picture of the lanes, then what happened in order, then the end of the log.
 *
 * **Details** Time runs from left to right, one row for each process and client; the line below the picture says what its
 * letters mean. Equal happenings that follow each other become one. Of a long story the middle is left out, and the
 * text says how much; the last happenings and the last 30 log lines are always there. Control characters are written
 * out.
 *
 * **When to use** For the message of a failure. `toHtml` for a story that wants a closer look: it has everything.
 *
 * **Gotchas** A line of the log, or a text of the test's own, may be longer than 100 columns. It is cut at 400 characters.
 *
 * **Example**
 *
 * ```ts
 * import { type Timeline, toText } from "@holdfast/testkit/Timeline"
 *
 * export const explain = (timeline: Timeline): Error => new Error(`Nobody is ready.\n${toText(timeline)}`)
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const toText = (timeline: Timeline): string => picture.text(timeline)

/**
 * The story as one HTML file that needs nothing else: no script, no font, no network; it says so in its own content
 * security policy. It opens from a disk, in light and dark, and prints.
 *
 * **Details** A lane for each process, each client and what the test did. Labels that have no room are dropped; what they
 * say is in the hint that each bar and mark shows under the pointer and the keyboard's focus. Below, a table of every
 * happening, none left out.
 *
 * **When to use** To look at a failure of many processes closely, or to show a scenario to somebody.
 *
 * **Example**
 *
 * ```ts
 * import { type Timeline, toHtml } from "@holdfast/testkit/Timeline"
 * import * as fs from "node:fs"
 *
 * export const keep = (timeline: Timeline): void => fs.writeFileSync("timeline.html", toHtml(timeline))
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const toHtml = (timeline: Timeline): string => page.html(timeline)
