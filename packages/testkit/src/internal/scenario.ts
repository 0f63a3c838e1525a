/** How a scenario is told and fails. */
import type { Ready, ServiceClient } from "@holdfast/client/ServiceClient"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Scenario } from "../Scenario.ts"
import { Testkit } from "../Testkit.ts"
import { ScenarioFailed } from "../WaitedTooLong.ts"
import { Broken, type Kit } from "./law.ts"
import { storyOf } from "./story.ts"

type Told = { readonly _tag: string; readonly message: string }

export const scenario = (
  told: Pick<Scenario, "name" | "sentence" | "source"> & { readonly needs?: Scenario["needs"] },
  body: (kit: Kit) => Effect.Effect<void, Broken | Told, Scope.Scope>
): Scenario => ({
  needs: [],
  ...told,
  timeoutMs: 90_000,
  run: Effect.flatMap(Testkit, (kit) =>
    body(kit).pipe(
      Effect.mapError((error) => {
        const words =
          error._tag === "Broken" ? `${(error as Broken).words}\n${storyOf(kit.timeline())}` : (error as Told).message
        return new ScenarioFailed({ message: `${told.name}: ${words}`, action: "" })
      }),
      Effect.scoped
    )
  )
})

export type Client = ServiceClient["Service"]

/** Clients of their own, each with its lane. */
export const followers = (kit: Kit, n: number) =>
  Effect.forEach(
    Array.from({ length: n }, (_, index) => index + 1),
    (index) => kit.follow(`client ${index}`, { access: "launch" })
  )

/** Waits until all are attached to one instance, and says which. While owners change, two clients may find different ones. */
export const attached = (clients: ReadonlyArray<Client>): Effect.Effect<Ready, Broken | Told> =>
  Effect.forEach(clients, (client) => client.reconnect(), { concurrency: "unbounded" }).pipe(
    Effect.repeat({
      schedule: Schedule.spaced("100 millis"),
      until: (found) => new Set(found.map(({ instanceID }) => instanceID)).size === 1
    }),
    Effect.map(([one]) => one!),
    Effect.timeoutOrElse({
      duration: "45 seconds",
      orElse: () => Effect.fail(new Broken("the clients were not all attached to one instance within 45 s"))
    })
  )

/** Statuses a client saw, in order. */
export const seenBy = (kit: Kit, client: string): ReadonlyArray<string> =>
  kit.timeline().happenings.flatMap((one) => (one._tag === "Seen" && one.client === client ? [one.status] : []))
