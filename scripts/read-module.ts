/** What a source text imports and calls, for the house rules. */
import { parseSync, Visitor } from "rolldown/utils"

export interface Import {
  readonly line: number
  readonly specifier: string
  /** `static`: loaded with the module. `type`: erased. `dynamic`: loaded when it is reached. */
  readonly kind: "static" | "type" | "dynamic"
}

export interface Call {
  readonly line: number
  /** As written, without spaces: `Date.now`, `it.live.only`, `new Date`. */
  readonly callee: string
  /** The first argument if it is a string, else empty. */
  readonly argument: string
}

export interface Module {
  readonly file: string
  readonly imports: ReadonlyArray<Import>
  readonly calls: ReadonlyArray<Call>
}

interface Node {
  readonly start: number
  readonly end: number
}

const stringOf = (node: unknown): string => {
  const value = (node as { readonly value?: unknown } | undefined)?.value
  return typeof value === "string" ? value : ""
}

export const readModule = (file: string, text: string): Module => {
  const imports: Array<Import> = []
  const calls: Array<Call> = []
  const { errors, program } = parseSync(file, text)
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`)
  const lineOf = (node: Node): number => text.slice(0, node.start).split("\n").length
  const imported = (node: Node & { readonly source: unknown }, kind: Import["kind"]): void => {
    imports.push({ line: lineOf(node), specifier: stringOf(node.source), kind })
  }
  const called = (node: Node & { readonly callee: Node; readonly arguments: ReadonlyArray<unknown> }, prefix = "") => {
    const callee = prefix + text.slice(node.callee.start, node.callee.end).replace(/\s+|\?(?=\.)/g, "")
    calls.push({ line: lineOf(node), callee, argument: stringOf(node.arguments[0]) })
  }
  // `import { type A }` keeps the import itself (verbatimModuleSyntax), so only `import type` counts as erased
  new Visitor({
    ImportDeclaration: (node) => imported(node, node.importKind === "type" ? "type" : "static"),
    ExportAllDeclaration: (node) => imported(node, node.exportKind === "type" ? "type" : "static"),
    ExportNamedDeclaration: (node) => {
      if (node.source !== null) imported(node, node.exportKind === "type" ? "type" : "static")
    },
    ImportExpression: (node) => imported(node, "dynamic"),
    TSImportType: (node) => imported(node, "type"),
    CallExpression: (node) => called(node),
    NewExpression: (node) => called(node, "new ")
  }).visit(program)
  return { file, imports, calls }
}
