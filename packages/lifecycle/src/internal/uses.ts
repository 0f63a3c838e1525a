/** Whether a service is in use now: requests being answered, and streams. */

export interface Uses {
  /** Begins a use; the answer ends it, once. */
  readonly begin: () => () => void
  /** Told how it is now, and of each change between used and unused. */
  readonly subscribe: (listener: (used: boolean) => void) => () => void
}

export const make = (): Uses => {
  const listeners = new Set<(used: boolean) => void>()
  let count = 0
  const change = (by: 1 | -1) => {
    const before = count > 0
    count += by
    if (count > 0 !== before) for (const listener of listeners) listener(count > 0)
  }
  return {
    begin: () => {
      let begun = true
      change(1)
      return () => {
        if (begun) change(-1)
        begun = false
      }
    },
    subscribe: (listener) => {
      listeners.add(listener)
      listener(count > 0)
      return () => listeners.delete(listener)
    }
  }
}
