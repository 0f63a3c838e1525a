import * as Application from "@holdfast/lifecycle/Application"
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
export default Application.make(HttpRouter.add("GET", "/hello", Effect.succeed(HttpServerResponse.text("hello"))))
