/** What the screen is about, and what becomes of it: pure, whatever happens around it. */
import type { ServiceState } from "@holdfast/client/ServiceState"
import { type Hit, longestQuery, type Root, type RootsEvent } from "../api.ts"
import { isRestartable } from "./status.ts"
import { withoutLast } from "./text.ts"

/** What is wrong, and what a person can do about it. */
export interface Trouble {
  readonly message: string
  readonly action: string
}

/** The lines of a file around one that was found; `from` is the number of the first. */
export interface Preview {
  readonly file: string
  readonly line: number
  readonly from: number
  readonly lines: ReadonlyArray<string>
}

/** What was asked: a text, in one directory or everywhere. */
export interface Question {
  readonly query: string
  readonly dir: string | undefined
}

export interface State {
  /** Where this terminal is: its files are shown relative to it, and Tab searches only there. */
  readonly directory: string
  readonly standalone: boolean
  readonly service: ServiceState
  readonly query: string
  readonly hereOnly: boolean
  /** What `hits` answer; they stay on the screen until the next answer. */
  readonly answered: Question | undefined
  readonly hits: ReadonlyArray<Hit>
  /** The answer takes long enough to say so. */
  readonly slow: boolean
  readonly selected: number
  readonly preview: Preview | undefined
  readonly roots: ReadonlyArray<Root>
  /** Why the service cannot be had, why a search failed, why the directory is not indexed, why a restart failed. */
  readonly troubles: { readonly [_ in "start" | "search" | "root" | "restart"]?: Trouble | undefined }
  readonly restart: "no" | "asked" | "running"
  /** The query was edited since a restart is on offer: until Esc, `r` is a letter. */
  readonly typing: boolean
  readonly leaving: boolean
}

export type Key =
  | { readonly name: "text"; readonly text: string; readonly pasted?: boolean }
  | {
      readonly name:
        | "up"
        | "down"
        | "pageUp"
        | "pageDown"
        | "backspace"
        | "word"
        | "line"
        | "tab"
        | "enter"
        | "escape"
        | "quit"
    }

export type Event =
  | { readonly type: "Key"; readonly key: Key }
  | { readonly type: "Service"; readonly service: ServiceState }
  | { readonly type: "Answered"; readonly question: Question; readonly hits: ReadonlyArray<Hit> }
  | { readonly type: "Slow" }
  | { readonly type: "Previewed"; readonly preview: Preview | undefined }
  | { readonly type: "Roots"; readonly event: RootsEvent }
  | { readonly type: "Trouble"; readonly about: keyof State["troubles"]; readonly trouble: Trouble | undefined }
  | { readonly type: "Restarted"; readonly trouble: Trouble | undefined }

export const initial = (options: Pick<State, "directory" | "standalone" | "service">): State => ({
  ...options,
  query: "",
  hereOnly: false,
  answered: undefined,
  hits: [],
  slow: false,
  selected: 0,
  preview: undefined,
  roots: [],
  troubles: {},
  restart: "no",
  typing: false,
  leaving: false
})

/** What the person asks now. */
export const questionOf = ({ directory, hereOnly, query }: State): Question => ({
  query,
  dir: hereOnly ? directory : undefined
})

/** What is on the screen answers what is asked. */
export const isAnswered = (state: State): boolean =>
  state.answered?.query === state.query && state.answered.dir === questionOf(state).dir

export const chosen = (state: State): Hit | undefined => state.hits[state.selected]

export const reduce = (state: State, event: Event): State => {
  switch (event.type) {
    case "Key":
      return pressed(state, event.key)
    case "Service":
      return settled({ ...state, service: event.service })
    case "Answered":
      return { ...answered(state, event), troubles: { ...state.troubles, search: undefined } }
    case "Slow":
      return state.slow ? state : { ...state, slow: true }
    case "Previewed":
      return { ...state, preview: event.preview }
    case "Roots":
      return { ...state, roots: rootsAfter(state.roots, event.event) }
    case "Trouble":
      return settled({ ...state, troubles: { ...state.troubles, [event.about]: event.trouble } })
    case "Restarted":
      return { ...state, restart: "no", troubles: { ...state.troubles, restart: event.trouble } }
  }
}

/** The question whether to restart goes with its reason. */
const settled = (state: State): State => {
  if (isRestartable(state)) return state
  const restart = state.restart === "asked" ? "no" : state.restart
  const troubles = state.restart === "no" ? { ...state.troubles, restart: undefined } : state.troubles
  return { ...state, restart, troubles, typing: false }
}

/** Who has chosen a line stays with it, wherever it is now; the first line is chosen by nobody. */
const answered = (state: State, { hits, question }: Extract<Event, { readonly type: "Answered" }>): State => {
  const before = isAnswered(state) && state.selected > 0 ? chosen(state) : undefined
  const again = hits.findIndex((hit) => hit.file === before?.file && hit.line === before.line)
  const nearest = Math.min(state.selected, Math.max(hits.length - 1, 0))
  const selected = before === undefined ? 0 : again >= 0 ? again : nearest
  return { ...state, answered: question, hits, selected, slow: false }
}

const rootsAfter = (roots: ReadonlyArray<Root>, event: RootsEvent): ReadonlyArray<Root> => {
  if (event.type === "current") return event.roots
  const path = event.type === "changed" ? event.root.path : event.path
  const others = roots.filter((root) => root.path !== path)
  return event.type === "removed"
    ? others
    : [...others, event.root].toSorted((one, other) => (one.path < other.path ? -1 : 1))
}

const pressed = (state: State, key: Key): State => {
  if (key.name === "quit") return { ...state, leaving: true }
  if (state.restart === "asked") return answering(state, key)
  if (key.name === "text" && key.text === "r" && key.pasted !== true && isRestartable(state) && !state.typing) {
    return { ...state, restart: "asked" }
  }
  switch (key.name) {
    case "text":
      return edited(state, state.query + key.text.replace(/[\p{Cc}\p{Cs}]/gu, ""))
    case "backspace":
      return edited(state, withoutLast(state.query))
    case "word":
      return edited(state, state.query.replace(/\S*\s*$/, ""))
    case "line":
      return edited(state, "")
    case "tab":
      return { ...state, hereOnly: !state.hereOnly }
    case "escape":
      if (state.typing) return { ...state, typing: false }
      return state.query === "" ? { ...state, leaving: true } : edited(state, "", false)
    case "enter":
      return state
    default:
      return moved(state, steps[key.name])
  }
}

/** Only a clear yes restarts; whoever was typing goes on, and has lost no letter. */
const answering = (state: State, key: Key): State => {
  if (key.name === "enter" || (key.name === "text" && key.text.toLowerCase() === "y")) {
    return { ...state, restart: "running", troubles: { ...state.troubles, restart: undefined } }
  }
  const closed: State = { ...state, restart: "no" }
  if (key.name !== "text" || key.text.toLowerCase() === "n") return closed
  return edited(closed, `${state.query}r${key.text.replace(/[\p{Cc}\p{Cs}]/gu, "")}`)
}

const edited = (state: State, query: string, typing = isRestartable(state)): State => ({
  ...state,
  query: query.length > longestQuery ? state.query : query,
  typing,
  ...(query === "" ? { answered: undefined, hits: [], selected: 0, preview: undefined, slow: false } : {})
})

const steps = { up: -1, down: 1, pageUp: -10, pageDown: 10 }

const moved = (state: State, by: number): State => ({
  ...state,
  selected: Math.max(0, Math.min(state.hits.length - 1, state.selected + by))
})
