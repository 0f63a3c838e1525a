/** Waits that end early: nothing here keeps a program that is leaving. */

/** Ends after `ms`, or with the signal; never fails. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener("abort", done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener("abort", done)
  })

/** The same as a signal, ended also by `also`; `end` lets go of it. */
export const within = (signal: AbortSignal): { readonly signal: AbortSignal; readonly end: () => void } => {
  const own = new AbortController()
  return { signal: AbortSignal.any([signal, own.signal]), end: () => own.abort() }
}
