#!/usr/bin/env node
/** The command line. What stands in the way of loading it is said in one line, too. */
import { wanted } from "./ui/wanted.ts"

try {
  const [{ answer }, { codesearch }] = [await import("@holdfast/client/quick"), await import("./service.ts")]
  if (!(await answer(codesearch))) {
    const ui = wanted(process.argv.slice(2), process)
    if (ui === undefined) (await import("./commands.ts")).main()
    else await (await import("./ui/open.ts")).open(ui)
  }
} catch (error) {
  const { action, message, name } = error as {
    readonly name?: string
    readonly message?: string
    readonly action?: string
  }
  if (name !== "InvalidKey") throw error
  console.error(`codesearch: ${message} ${action}`)
  process.exitCode = 64
}
