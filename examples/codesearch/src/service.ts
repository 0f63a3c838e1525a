import { define } from "@holdfast/lifecycle/ServiceSpec"

const named = (variable: string, key: "channel" | "profile") => {
  const value = process.env[variable]
  return value === undefined || value === "" ? {} : { [key]: value }
}

/** The service as its daemon, its command line and its tests know it. `CODESEARCH_STATE_DIR` names its directory. */
export const codesearch = define({
  app: "codesearch",
  title: "CodeSearch",
  version: "0.1.0",
  entry: new URL("./daemon.ts", import.meta.url),
  ...named("CODESEARCH_CHANNEL", "channel"),
  ...named("CODESEARCH_PROFILE", "profile")
})
