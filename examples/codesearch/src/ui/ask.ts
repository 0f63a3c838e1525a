/** Searches as the query changes, one at a time; what could not be asked is asked again by itself. */
import type { PromiseServiceClient } from "@holdfast/client/promise"
import { hitsIn, otherWords, troubleIn } from "./answers.ts"
import { pause } from "./pause.ts"
import { limit } from "./shown.ts"
import { type Question, questionOf } from "./State.ts"
import type { Store } from "./store.ts"

/** Typing goes on for less than this between two letters. */
const debounce = 50

/** Sooner, a "searching…" would only flicker. */
const slow = 400

/** Between two answers while many files change. */
const spacing = 200

export interface Asking {
  /** The person asks something else now. */
  readonly anew: () => void
  /** The answer may be another by now. */
  readonly again: () => void
}

export const make = (service: PromiseServiceClient, store: Store, signal: AbortSignal): Asking => {
  let current = new AbortController()
  let waiting = false
  let busy = false

  const ask = async ({ dir, query }: Question, signal: AbortSignal) => {
    const search = new URLSearchParams({ q: query, limit: String(limit), ...(dir === undefined ? {} : { dir }) })
    const response = await service.fetch(`/search?${search}`, { signal })
    const body: unknown = await response.json().catch(() => undefined)
    if (response.ok) return hitsIn(body) ?? otherWords
    return troubleIn(body)
  }

  const run = async (before: number) => {
    current.abort()
    const own = (current = new AbortController())
    const signals = AbortSignal.any([signal, own.signal])
    const question = questionOf(store.get())
    busy = question.query !== ""
    if (!busy) return
    await pause(before, signals)
    const late = setTimeout(() => store.dispatch({ type: "Slow" }), slow)
    for (let ms = 250; !signals.aborted; ms = Math.min(ms * 2, 2000)) {
      waiting = false
      const answer = await ask(question, signals).catch(troubleIn)
      if (signals.aborted) break
      if (!("message" in answer)) {
        store.dispatch({ type: "Answered", question, hits: answer })
        break
      }
      // while the service is away its status says it better
      store.dispatch({ type: "Trouble", about: "search", trouble: answer })
      await pause(ms, signals)
    }
    clearTimeout(late)
    if (own.signal.aborted) return
    await pause(spacing, signals)
    if (own.signal.aborted || signal.aborted) return
    busy = false
    if (waiting) void run(0)
  }

  return {
    anew: () => {
      waiting = false
      void run(debounce)
    },
    again: () => {
      if (busy) waiting = true
      else void run(0)
    }
  }
}
