/** Effect's client of `node:http`, over a Unix socket. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"

const http = process.getBuiltinModule("node:http")
// loaded where it is needed: it takes a sixth of a client's start
const https = () => process.getBuiltinModule("node:https")

/** Its agent keeps no connection for later, so there is nothing to close when the service moves on to the next socket. */
export const overSocket = (socketPath: string): Effect.Effect<HttpClient> => {
  const options: NodeHttpClient.HttpAgentOptions = { socketPath }
  const agents = { http: new http.Agent(options), https: new (https().Agent)(options) }
  return Effect.provideService(NodeHttpClient.makeNodeHttp, NodeHttpClient.HttpAgent, agents)
}
