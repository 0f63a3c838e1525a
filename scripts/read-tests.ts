/** The tests of a source text by name, for the check that holds the documents and the tests together. */
import { parseSync, Visitor } from "rolldown/utils"
import { listOf, type Node, nodeOf } from "./syntax.ts"

export interface NamedTest {
  readonly line: number
  /** The names of the groups around it, outermost first, and its own, as written: `${...}` and `%s` are holes. */
  readonly names: ReadonlyArray<Name>
  /** Skipped whatever the machine has: `.skip`, `.todo`, `skipIf(true)`. */
  readonly skipped: boolean
}

/** The fixed parts of a name, with a hole between each two. */
export type Name = ReadonlyArray<string>

export interface TestFile {
  readonly tests: ReadonlyArray<NamedTest>
  /** Every text and number in the file: what may fill a hole. */
  readonly literals: ReadonlySet<string>
}

/** `it.live.skipIf(x)` is `["it", "live", "skipIf"]`, and the calls on the way with their arguments. */
const chainOf = (callee: Node): { words: Array<string>; constants: Array<[string, unknown]> } => {
  const words: Array<string> = []
  const constants: Array<[string, unknown]> = []
  let node: Node | undefined = callee
  while (node !== undefined) {
    if (node.type === "Identifier") {
      words.unshift(String(node["name"]))
      node = undefined
    } else if (node.type === "MemberExpression") {
      words.unshift(String(nodeOf(node["property"])?.["name"]))
      node = nodeOf(node["object"])
    } else if (node.type === "CallExpression") {
      const called = nodeOf(node["callee"])
      const word = String(nodeOf(called?.["property"])?.["name"])
      const [first] = listOf(node["arguments"])
      if (first?.type === "Literal") constants.push([word, first["value"]])
      node = called
    } else return { words: [], constants }
  }
  return { words, constants }
}

/** The name that a first argument makes, or `undefined` if it cannot be told from the text. */
const nameOf = (node: Node | undefined, format: boolean): Name | undefined => {
  const split = (text: string): Array<string> => (format ? text.split(/%[sdifjoO#]|\$\w+/) : [text])
  const join = (left: Array<string>, right: ReadonlyArray<string>): Array<string> => [
    ...left.slice(0, -1),
    left.at(-1)! + right[0]!,
    ...right.slice(1)
  ]
  if (node?.type === "Literal" && typeof node["value"] === "string") return split(node["value"])
  if (node?.type === "TemplateLiteral") {
    const parts = listOf(node["quasis"]).map((part) => split((part["value"] as { cooked: string }).cooked))
    return parts.flat()
  }
  if (node?.type === "BinaryExpression" && node["operator"] === "+") {
    const left = nameOf(nodeOf(node["left"]), format)
    const right = nameOf(nodeOf(node["right"]), format)
    return left === undefined || right === undefined ? undefined : join([...left], right)
  }
  return node === undefined ? undefined : ["", ""]
}

export const readTests = (file: string, text: string): TestFile => {
  const { errors, program } = parseSync(file, text)
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`)
  const tests: Array<NamedTest> = []
  const literals = new Set<string>()
  const around: Array<{ readonly call: unknown; readonly name: Name; readonly skipped: boolean }> = []
  new Visitor({
    Literal: (node) => void literals.add(String(node.value)),
    TemplateElement: (node) => void literals.add(node.value.cooked ?? ""),
    CallExpression: (node) => {
      const { words, constants } = chainOf(node.callee as unknown as Node)
      const [first, second] = node.arguments as unknown as ReadonlyArray<Node>
      const kind = words[0]
      // `it.skipIf(x)` alone is not yet a test: its last word takes a condition or a table, not a name
      const curried = node.callee.type === "MemberExpression" && /^(skipIf|runIf|each|for)$/.test(words.at(-1) ?? "")
      if (!/^(it|test|describe)$/.test(kind ?? "") || curried || first === undefined) return
      const name = nameOf(first, words.includes("each") || words.includes("for"))
      if (name === undefined || (second === undefined && !words.includes("todo"))) return
      const options = (node.arguments as unknown as ReadonlyArray<Node>).flatMap((one) =>
        one.type === "ObjectExpression" ? listOf(one["properties"]) : []
      )
      const skipped =
        options.some(
          (option) => nodeOf(option["key"])?.["name"] === "skip" && nodeOf(option["value"])?.["value"] === true
        ) ||
        words.some((word) => /^(skip|todo)$/.test(word)) ||
        constants.some(([word, value]) => (word === "skipIf" && Boolean(value)) || (word === "runIf" && !value))
      if (kind === "describe") around.push({ call: node, name, skipped })
      else
        tests.push({
          line: text.slice(0, node.start).split("\n").length,
          names: [...around.map((group) => group.name), name],
          skipped: skipped || around.some((group) => group.skipped)
        })
    },
    "CallExpression:exit": (node) => {
      if (around.at(-1)?.call === node) around.pop()
    }
  }).visit(program)
  return { tests, literals }
}
