import { answer, begin } from "@holdfast/client/quick"
import { hello } from "./service.ts"
if (!(await answer(hello))) {
  begin(hello)
  await import("./client.ts")
}
