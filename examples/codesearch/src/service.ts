import { define } from "@holdfast/lifecycle/ServiceSpec"

const named = (variable: string, key: "channel" | "profile") => {
  const value = process.env[variable]
  return value === undefined || value === "" ? {} : { [key]: value }
}

const port = process.env["CODESEARCH_PORT"]

/**
 * The service as its daemon, its command line and its tests know it. `CODESEARCH_STATE_DIR` names its directory,
 * `CODESEARCH_PORT` the port it listens on instead of one that the system chooses.
 */
export const codesearch = define({
  app: "codesearch",
  title: "CodeSearch",
  version: "0.1.0",
  entry: new URL("./daemon.ts", import.meta.url),
  ...(port === undefined || port === "" ? {} : { listen: { port: Number(port) }, environment: ["CODESEARCH_PORT"] }),
  ...named("CODESEARCH_CHANNEL", "channel"),
  ...named("CODESEARCH_PROFILE", "profile")
})
