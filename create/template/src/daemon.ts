import { runDaemon } from "@holdfast/lifecycle/daemon"
import { spec } from "./service.ts"
await runDaemon(spec, () => import("./application.ts"))
