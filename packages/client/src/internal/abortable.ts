/** A promise that is left behind when the signal aborts: it rejects with the signal's reason at once. */
export const abortable = <A>(promise: Promise<A>, signal: AbortSignal): Promise<A> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    const abort = () => reject(signal.reason as Error)
    signal.addEventListener("abort", abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort))
  })
