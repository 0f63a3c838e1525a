/** How a scenario is told and fails. */
import type { Ready, ServiceClient } from "@holdfast/client/ServiceClient"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Scenario } from "../Scenario.ts"
import { Testkit } from "../Testkit.ts"
import { toText } from "../Timeline.ts"
import { ScenarioFailed } from "../WaitedTooLong.ts"
import { Broken, expect, type Kit } from "./law.ts"

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
          error._tag === "Broken" ? `${(error as Broken).words}\n${toText(kit.timeline())}` : (error as Told).message
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

/** That all are attached, to one instance: which. */
export const attached = (clients: ReadonlyArray<Client>): Effect.Effect<Ready, Broken | Told> =>
  Effect.gen(function* () {
    const found = yield* Effect.forEach(clients, (client) => client.reconnect(), { concurrency: "unbounded" }).pipe(
      Effect.timeoutOrElse({
        duration: "45 seconds",
        orElse: () => Effect.fail(new Broken("the clients were not all attached within 45 s"))
      })
    )
    const instances = new Set(found.map(({ instanceID }) => instanceID))
    yield* expect(instances.size === 1, `the clients are attached to ${instances.size} instances`)
    return found[0]!
  })

/** The moments that a process came to. */
export const lifeOf = (kit: Kit, pid: number) => kit.lives().find((life) => life.pid === pid)

export const hasEnded = (kit: Kit, pid: number) =>
  kit.eventually(
    `${pid} has ended`,
    () => lifeOf(kit, pid)?.to,
    (to) => to !== undefined,
    { within: "30 seconds" }
  )

/** Statuses a client saw, in order. */
export const seenBy = (kit: Kit, client: string): ReadonlyArray<string> =>
  kit.timeline().happenings.flatMap((one) => (one._tag === "Seen" && one.client === client ? [one.status] : []))
