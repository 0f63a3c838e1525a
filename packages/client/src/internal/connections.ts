/** The connections of one client. Those to an owner that was followed by another are cut: a frozen one never ends them. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ServiceState } from "../ServiceState.ts"

export const layer = Layer.provideMerge(NodeHttpClient.layerNodeHttpNoAgent, NodeHttpClient.layerAgent)

/** To be told of each state that is seen. Whom a registration names without a proof has followed nobody. */
export const displaced: Effect.Effect<(state: ServiceState) => void, never, NodeHttpClient.HttpAgent> = Effect.map(
  NodeHttpClient.HttpAgent,
  ({ http }) => {
    let proved = { instanceID: "", url: "" }
    return ({ health, registration }) => {
      if (health === null || registration === null || registration.instanceID === proved.instanceID) return
      if (proved.url !== registration.url) {
        const address = `${proved.url.slice("http://".length)}:` // as an agent names whom it is connected to
        for (const [name, sockets = []] of Object.entries(http.sockets))
          if (name.startsWith(address)) for (const socket of sockets) socket.destroy()
      }
      proved = registration
    }
  }
)
