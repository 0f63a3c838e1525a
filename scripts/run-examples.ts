/** `node run-examples.ts <directory> <module>…`: imports each, and writes a line of JSON about it. See examples.ts. */
import * as fs from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { inspect, isDeepStrictEqual } from "node:util"

export interface Outcome {
  readonly module: string
  readonly line?: number
  /** What is wrong; missing where nothing is. */
  readonly message?: string
}

interface Expected {
  readonly line: number
  readonly text: string
}

const expectedIn = (text: string): ReadonlyArray<Expected> =>
  text.split("\n").flatMap((line, index) => {
    const found = /\/\/ => (.+)$/.exec(line)?.[1]
    return found === undefined ? [] : [{ line: index + 1, text: found }]
  })

/** What the comment says, as the value that it writes. */
const valueOf = (text: string): unknown => new Function(`return (${text})`)()

const compare = (printed: ReadonlyArray<unknown>, expected: ReadonlyArray<Expected>): Omit<Outcome, "module"> => {
  for (const [index, { line, text }] of expected.entries()) {
    if (index >= printed.length) return { line, message: `nothing was printed; expected ${text}` }
    if (!isDeepStrictEqual(printed[index], valueOf(text)))
      return { line, message: `printed ${inspect(printed[index], { depth: 9 })}; expected ${text}` }
  }
  return printed.length > expected.length
    ? { message: `printed ${inspect(printed[expected.length])}, and no "// =>" says so` }
    : {}
}

const [project = "", ...modules] = process.argv.slice(2)
let current = ""
const tell = (outcome: Outcome): void => void process.stdout.write(`${JSON.stringify(outcome)}\n`)
const wordsOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : inspect(error)

for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (error: unknown) => tell({ module: current, message: wordsOf(error) }))
}
for (const module of modules) {
  current = module
  const file = path.join(project, module)
  const printed: Array<unknown> = []
  console.log = (value: unknown) => void printed.push(value)
  try {
    await import(pathToFileURL(file).href)
    tell({ module, ...compare(printed, expectedIn(fs.readFileSync(file, "utf8"))) })
  } catch (error) {
    tell({ module, message: wordsOf(error) })
  }
}
// what is done ends by itself; an example that keeps the process is one that started something
setTimeout(() => {
  process.stderr.write(process.getActiveResourcesInfo().join(", "))
  process.exit(1)
}, 2000).unref()
