/**
 * Holds docs/verification.md and docs/fault-kinds.md and the tests they name together. scripts/test/verification.test.ts
 * runs it on the tree, and shows that it is able to fail.
 */
import * as path from "node:path"
import { type NamedTest, readTests, type TestFile } from "./read-tests.ts"

interface Row {
  readonly section: string
  readonly cells: ReadonlyArray<string>
  readonly tests: ReadonlyArray<{ readonly file: string; readonly name: string }>
}

/** The table rows of a document, with the tests that each names as [`file`](../its/path) `name`. */
export const rowsOf = (markdown: string): ReadonlyArray<Row> => {
  let section = ""
  const rows: Array<Row> = []
  for (const line of markdown.split("\n")) {
    section = /^#+ (.*)$/.exec(line)?.[1] ?? section
    if (!/^\|(?! *-)/.test(line)) continue
    const cells = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim())
    const tests = [...line.matchAll(/\]\(\.\.\/([^)]+)\) `([^`]+)`/g)].map(([, file, name]) => ({
      file: file!,
      name: name!
    }))
    rows.push({ section, cells, tests })
  }
  return rows
}

/** Whether a test may be called that: each hole of its name is filled with a text that is in its file, or with `…`. */
const named = (parts: ReadonlyArray<string>, name: string, literals: ReadonlySet<string>): boolean => {
  const [first, ...others] = parts
  if (!name.startsWith(first!)) return false
  const rest = name.slice(first!.length)
  if (others.length === 0) return rest === ""
  return [...literals, "", "…"].some(
    (text) => rest.startsWith(text) && named(others, rest.slice(text.length), literals)
  )
}

/** What a machine may lack stands at the end of some names, and in no document. */
const withoutNeeds = (parts: ReadonlyArray<string>): ReadonlyArray<string> =>
  parts.map((part) => part.replaceAll(/ \(needs [^)]*\)/g, ""))

const answersTo = (test: NamedTest, name: string, { literals }: TestFile): boolean => {
  const names = test.names.map(withoutNeeds)
  const own = names.at(-1)!
  const whole = names.reduce((left, right) => [...left.slice(0, -1), `${left.at(-1)} > ${right[0]}`, ...right.slice(1)])
  return named(own, name, literals) || named(whole, name, literals)
}

/** A file's text, by its path from the root of the repository. */
type Read = (file: string) => string | undefined

/** Each file's tests, read once. */
const reading = (read: Read): ((file: string) => TestFile | undefined) => {
  const files = new Map<string, TestFile | undefined>()
  return (file) => {
    if (!files.has(file)) {
      const text = read(file)
      files.set(file, text === undefined ? undefined : readTests(path.basename(file), text))
    }
    return files.get(file)
  }
}

/** `undefined` if the file has this test, and it runs. */
const missing = (row: Row["tests"][number], testsOf: ReturnType<typeof reading>): string | undefined => {
  const file = testsOf(row.file)
  if (file === undefined) return `${row.file} is not there`
  const found = file.tests.filter((test) => answersTo(test, row.name, file))
  if (found.length === 0) return `${row.file} has no test “${row.name}”`
  return found.every(({ skipped }) => skipped) ? `${row.file}: “${row.name}” is skipped` : undefined
}

/** How a test that shows this row begins: its words, in one sentence, with our names for the seeds' code. */
export const sentenceOf = (
  cells: ReadonlyArray<string>,
  ours: ReadonlyArray<readonly [theirs: string, ours: string]>
): string => {
  const [scenario = "", result] = cells
  // `Exactly one` goes on in lower case, `TUI` does not
  const rest = result?.replace(/^[A-Z](?=[a-z]| )/, (letter) => letter.toLowerCase())
  const sentence = rest === undefined ? scenario.replace(/\.$/, "") : `${scenario}: ${rest}`
  return ours.reduce((text, [theirs, our]) => text.replaceAll(theirs, our), sentence).replaceAll("`", "")
}

const same = (left: ReadonlyArray<string>, right: ReadonlyArray<string>): boolean =>
  left.length === right.length && left.every((cell, index) => cell === right[index])

/** What is wrong with the tables of docs/verification.md: each row is there, once, with a test that is named after it. */
export const checkTables = (
  markdown: string,
  tables: Readonly<Record<string, ReadonlyArray<ReadonlyArray<string>>>>,
  ours: ReadonlyArray<readonly [theirs: string, ours: string]>,
  read: Read
): ReadonlyArray<string> => {
  const testsOf = reading(read)
  const rows = rowsOf(markdown).filter(({ section }) => section in tables)
  return Object.entries(tables).flatMap(([section, wanted]) =>
    wanted.flatMap((cells) => {
      const what = `${section}, “${cells.join(": ")}”`
      const found = rows.filter((row) => row.section === section && same(row.cells.slice(0, -1), cells))
      if (found.length !== 1) return [`${what}: is there ${found.length} times`]
      const { tests } = found[0]!
      if (tests.length === 0) return [`${what}: names no test`]
      const sentence = sentenceOf(cells, ours)
      return tests.flatMap((test) => {
        const problem = missing(test, testsOf)
        const own = test.name.split(" > ").at(-1)!
        return [
          ...(problem === undefined ? [] : [`${what}: ${problem}`]),
          ...(own.startsWith(sentence) ? [] : [`${what}: its test is not called “${sentence}…”`])
        ]
      })
    })
  )
}

/** What is wrong with the table of docs/fault-kinds.md: each kind is there with tests that exist, or does not apply. */
export const checkKinds = (markdown: string, kinds: ReadonlyArray<string>, read: Read): ReadonlyArray<string> => {
  const testsOf = reading(read)
  const rows = rowsOf(markdown)
  return kinds.flatMap((kind) => {
    const found = rows.filter(({ cells }) => cells[0]!.startsWith(`${kind} `))
    if (found.length !== 1) return [`${kind}: is there ${found.length} times`]
    const { cells, tests } = found[0]!
    if ((cells.at(-1) ?? "") === "") return [`${kind}: does not say what we do`]
    if (tests.length === 0 && !cells.some((cell) => cell.startsWith("Not on Linux"))) return [`${kind}: names no test`]
    return tests.flatMap((test) => missing(test, testsOf) ?? []).map((problem) => `${kind}: ${problem}`)
  })
}
