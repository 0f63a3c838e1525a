/**
 * What happened in a test of many processes, as data; to be read as text or as one HTML file.
 *
 * @since 0.1.0
 */

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
 * milliseconds, and what happened, in order.
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

export const toText = (timeline: Timeline): string =>
  timeline.happenings
    .map(({ at, ...what }) => `${(at / 1000).toFixed(3).padStart(8)}s  ${JSON.stringify(what)}`)
    .join("\n")
export const toHtml = toText
