/**
 * `npm test`: vitest with this repository's configuration; arguments are handed on.
 *
 * It is started from here because it colours its output whenever `CI` is set, and decides so while it is loaded.
 */
if (process.env["CI"] !== undefined || !process.stdout.isTTY) {
  process.env["NO_COLOR"] = "1"
  delete process.env["FORCE_COLOR"]
}
process.argv.splice(2, 0, "run", "--config", "vitest.workspace.ts")
await import(new URL("../node_modules/vitest/vitest.mjs", import.meta.url).href)
