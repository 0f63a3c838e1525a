import { define } from "@holdfast/lifecycle/ServiceSpec"
export const spec = define({
  app: "my-service",
  version: "1.0.0",
  entry: new URL("./daemon.ts", import.meta.url)
})
