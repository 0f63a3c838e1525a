/** The state as it is now, told to whoever draws it and to whoever acts on it. */
import { type Event, reduce, type State } from "./State.ts"

export interface Store {
  readonly get: () => State
  readonly dispatch: (event: Event) => void
  /** Told after each change, with what was before. */
  readonly subscribe: (listener: (before: State, now: State) => void) => () => void
}

export const make = (initial: State): Store => {
  let state = initial
  const listeners = new Set<(before: State, now: State) => void>()
  return {
    get: () => state,
    dispatch: (event) => {
      const before = state
      state = reduce(before, event)
      if (state !== before) for (const listener of listeners) listener(before, state)
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
}
