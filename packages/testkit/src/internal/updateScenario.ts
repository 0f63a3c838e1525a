/** *Update with open TUIs*. */
import { ServiceClient } from "@holdfast/client/ServiceClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Scenario } from "../Scenario.ts"
import { twoAtOnce } from "./judgements.ts"
import { expect, hasEnded, hold } from "./law.ts"
import { attached, followers, scenario, seenBy } from "./scenario.ts"
import { watched } from "./watched.ts"

const update = scenario(
  {
    name: "update-with-open-tuis",
    sentence:
      "A fresh launch of the next version stops exactly the old instance, and open clients go on with the new one",
    source: "service-lifecycle.md, Update with open TUIs",
    needs: ["next"]
  },
  (kit) =>
    Effect.gen(function* () {
      if (kit.next === undefined) return yield* expect(false, "Testkit.layer was not given the service's next version.")
      const open = yield* followers(kit, 3)
      const old = yield* attached(open)
      const layer = Layer.fresh(ServiceClient.layer(watched(kit.next, kit.paths), { access: "launch" }))
      const fresh = Context.get(yield* Layer.build(layer), ServiceClient)
      const launched = yield* fresh.launch()
      yield* expect(launched.version === kit.next.version, `version ${launched.version} was launched`)
      yield* expect(launched.instanceID !== old.instanceID, "the old instance was attached to")
      yield* hasEnded(kit, old.pid)
      const now = yield* attached(open)
      yield* expect(now.instanceID === launched.instanceID, "an open client is attached to another instance")
      yield* hold(twoAtOnce(kit.lives()))
      for (const name of ["client 1", "client 2", "client 3"]) {
        const seen = seenBy(kit, name)
        yield* expect(!seen.includes("failed"), `${name} saw ${seen.join(", ")}`)
      }
    })
)

export const updates: ReadonlyArray<Scenario> = [update]
