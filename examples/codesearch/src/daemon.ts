import { runDaemon } from "@holdfast/lifecycle/daemon"
import { codesearch } from "./service.ts"

await runDaemon(codesearch, () => import("./application.ts"))
