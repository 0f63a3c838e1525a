/**
 * `npm run picture -- <scenario>`: the chart of `timelines/<scenario>.html` as docs/pictures/<scenario>-light.png and
 * -dark.png, photographed by the Chromium of this machine. Play the scenario first: `npm run timeline -- <scenario>`.
 */
import * as Effect from "effect/Effect"
import { executable, open } from "../packages/testkit/test/browser.ts"
import * as fs from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"

const [unavailable, usage] = [69, 64]
const mostBytes = 150 * 1024

const root = path.join(import.meta.dirname, "..")
const [name = ""] = process.argv.slice(2)
const html = path.join(root, "timelines", `${name}.html`)

const stop = (code: number, sentence: string): never => {
  process.stderr.write(`${sentence}\n`)
  process.exit(code)
}

/** Larger than on the page, so that it stays sharp where a screen has more pixels. */
const zoom = 1.5

/** The test's own client looks once, so that its lane says nothing of what came later. */
const without = '.lane[aria-label="test client"] { display: none }'

const photographs = Effect.gen(function* () {
  const { page } = yield* open
  yield* Effect.promise(() => page.setViewportSize({ width: 1000 * zoom, height: 600 * zoom }))
  for (const colorScheme of ["light", "dark"] as const) {
    const file = path.join(root, "docs/pictures", `${name}-${colorScheme}.png`)
    yield* Effect.promise(async () => {
      await page.emulateMedia({ colorScheme })
      await page.goto(pathToFileURL(html).href)
      await page.addStyleTag({ content: `html { zoom: ${zoom} } ${without}` })
      await page.locator("figure").screenshot({ path: file })
    })
    const { size } = fs.statSync(file)
    if (size > mostBytes) return stop(1, `${file} has ${size} bytes, more than ${mostBytes}.`)
    process.stdout.write(`${path.relative(root, file)}: ${Math.round(size / 1024)} KB\n`)
  }
  return undefined
})

if (executable === undefined) stop(unavailable, "There is no Chromium on the PATH.")
if (name === "" || !fs.existsSync(html))
  stop(usage, `There is no ${html}. Play the scenario first: npm run timeline -- <scenario>`)
fs.mkdirSync(path.join(root, "docs/pictures"), { recursive: true })
await Effect.runPromise(Effect.scoped(photographs))
