/** The laws of DESIGN §10, kept by a real application with a fence around its database. */
import * as laws from "@holdfast/testkit/laws"
import { describe } from "vitest"
import { pathToFileURL } from "node:url"
import { programOf } from "../../../scripts/programs.ts"
import { codesearch } from "../src/service.ts"

// each has processes and a directory of its own: they need not wait for each other
describe.concurrent("side by side", () => {
  laws.suite(
    { ...codesearch, environment: ["NODE_COMPILE_CACHE"], entry: pathToFileURL(programOf("codesearch-daemon")) },
    { fence: ({ directory }) => `${directory}/index.db` }
  )
})
