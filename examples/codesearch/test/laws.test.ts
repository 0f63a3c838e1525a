/** The laws of DESIGN §10, kept by a real application with a fence around its database. */
import * as laws from "@holdfast/testkit/laws"
import { pathToFileURL } from "node:url"
import { programOf } from "../../../scripts/programs.ts"
import { codesearch } from "../src/service.ts"

laws.suite(
  { ...codesearch, entry: pathToFileURL(programOf("codesearch-daemon")) },
  { fence: ({ directory }) => `${directory}/index.db` }
)
