// a command line as an executable is written: what needs nothing loaded is answered first
import { answer } from "../../packages/client/src/quick.ts"
import { hello } from "../../examples/minimal/src/service.ts"

if (!(await answer(hello))) await import("../../examples/minimal/src/cli.ts")
