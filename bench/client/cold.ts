// a client as an executable is written: the service is begun before anything else is loaded
import { begin } from "../../packages/client/src/quick.ts"
import { hello } from "../../examples/minimal/src/service.ts"
begin(hello)
await import("./work.ts")
