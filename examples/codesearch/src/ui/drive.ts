/** Between the screen and the service: acts on what the person wants, and tells the screen what becomes of it. */
import type { PromiseServiceClient } from "@holdfast/client/promise"
import { rootsEventIn, troubleIn } from "./answers.ts"
import { around } from "./around.ts"
import * as ask from "./ask.ts"
import { keep, until } from "./keep.ts"
import { pause } from "./pause.ts"
import { chosen, type State, type Trouble } from "./State.ts"
import type { Store } from "./store.ts"

/** Until the signal. The service is there, is followed, and outlives this. */
export const drive = (service: PromiseServiceClient, store: Store, signal: AbortSignal): void => {
  const asking = ask.make(service, store, signal)
  const about = (about: keyof State["troubles"], trouble: Trouble | undefined) =>
    store.dispatch({ type: "Trouble", about, trouble })

  const unsubscribe = [
    service.subscribe((service) => store.dispatch({ type: "Service", service })),
    store.subscribe((before, now) => {
      if (before.query !== now.query || before.hereOnly !== now.hereOnly) asking.anew()
      if (before.restart !== "running" && now.restart === "running") void restart()
      // each answer brings other objects: what is around the same line may have changed, too
      if (chosen(before) !== chosen(now)) void preview()
    })
  ]
  signal.addEventListener("abort", () => unsubscribe.forEach((end) => end()))

  const restart = async () => {
    const trouble = await service
      .restart({ signal })
      .then(({ _tag, sentence }) => (_tag === "Restarted" ? undefined : { message: sentence, action: "" }), troubleIn)
    if (!signal.aborted) store.dispatch({ type: "Restarted", trouble })
  }

  const preview = async () => {
    const hit = chosen(store.get())
    const found = hit === undefined ? undefined : await around(hit.file, hit.line)
    if (!signal.aborted && chosen(store.get()) === hit) store.dispatch({ type: "Previewed", preview: found })
  }

  /** The directory of this terminal is among those that are indexed; asking so again changes nothing. */
  const add = async () => {
    const body = JSON.stringify({ path: store.get().directory })
    const headers = { "content-type": "application/json" }
    const response = await service.fetch("/roots", { method: "POST", headers, body, idempotent: true, signal })
    about("root", response.ok ? undefined : troubleIn(await response.json().catch(() => undefined)))
  }

  const follow = async () => {
    await until(service, signal, ({ status }) => status.type === "ready")
    for (let ms = 1000; !signal.aborted; ms = Math.min(ms * 2, 10_000)) {
      try {
        for await (const { data, event } of service.events("/roots/events", { signal })) {
          ms = 1000
          if (event === "reopened") {
            // whoever answers now may have another index
            add().catch((error: unknown) => about("root", troubleIn(error)))
            asking.again()
            continue
          }
          const change = rootsEventIn(data)
          if (change === undefined) continue
          store.dispatch({ type: "Roots", event: change })
          asking.again()
        }
      } catch (error) {
        if (!signal.aborted) about("root", troubleIn(error))
      }
      await pause(ms, signal)
    }
  }

  void keep(service, signal, (trouble) => about("start", trouble))
  void follow()
}
