/** The docstrings of the public modules: whose they are, what they say, and which of them are missing. */
import * as fs from "node:fs"
import * as path from "node:path"
import { parseSync } from "rolldown/utils"
import { listOf, type Node, nodeOf } from "./syntax.ts"

export const packages = ["lock", "lifecycle", "client", "testkit"] as const

export interface Docstring {
  readonly line: number
  /** Without the comment's stars. */
  readonly text: string
  /** The export that it is about, `Class.member` in a class, or `the module`. */
  readonly of: string
}

/** What an export is, as far as it decides what its docstring must have. */
export type Kind = "function" | "service" | "error" | "value" | "type"

export interface Export {
  readonly name: string
  readonly kind: Kind
  readonly line: number
  readonly docstring: Docstring | undefined
}

export interface Source {
  readonly docstrings: ReadonlyArray<Docstring>
  readonly exports: ReadonlyArray<Export>
  /** `export … from`: its names, or all of the file's. */
  readonly passedOn: ReadonlyArray<{
    readonly from: string
    readonly names: ReadonlyMap<string, string> | "all"
  }>
}

const nameOf = (value: unknown): string => String(nodeOf(value)?.["name"] ?? nodeOf(value)?.["value"])

const isFunction = (init: Node | undefined, text: string): boolean =>
  init?.type === "ArrowFunctionExpression" ||
  init?.type === "FunctionExpression" ||
  (init?.type === "CallExpression" && text.slice(init.start, init.end).startsWith("Effect.fn"))

const kindOf = (declaration: Node, init: Node | undefined, text: string): Kind => {
  switch (declaration.type) {
    case "FunctionDeclaration":
      return "function"
    case "ClassDeclaration": {
      const base = nodeOf(declaration["superClass"])
      return /^Context\.Service\b/.test(base === undefined ? "" : text.slice(base.start, base.end))
        ? "service"
        : "error"
    }
    case "VariableDeclaration":
      return isFunction(init, text) ? "function" : "value"
    default:
      return "type"
  }
}

const textOf = (comment: string): string =>
  comment
    .slice(1)
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""))
    .join("\n")
    .trim()

export const readDocstrings = (file: string, text: string): Source => {
  const { comments, errors, program } = parseSync(file, text)
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`)
  const lineAt = (offset: number): number => text.slice(0, offset).split("\n").length
  const blocks = comments.filter(({ type, value }) => type === "Block" && value.startsWith("*"))
  const owners = new Map<(typeof blocks)[number], string>()
  const found = (block: (typeof blocks)[number] | undefined, of: string): Docstring | undefined => {
    if (block === undefined) return undefined
    owners.set(block, of)
    return { line: lineAt(block.start), text: textOf(block.value), of }
  }
  const first = blocks.find(({ start }) => start === 0)
  const before = (start: number) =>
    blocks.find((block) => block !== first && block.end <= start && text.slice(block.end, start).trim() === "")

  const exports: Array<Export> = []
  const passedOn: Array<Source["passedOn"][number]> = []
  for (const statement of program.body as unknown as ReadonlyArray<Node>) {
    const from = nodeOf(statement["source"])?.["value"]
    if (statement.type === "ExportAllDeclaration") {
      passedOn.push({ from: String(from), names: "all" })
    } else if (statement.type === "ExportNamedDeclaration") {
      const declaration = nodeOf(statement["declaration"])
      if (declaration === undefined) {
        const names = listOf(statement["specifiers"]).map(
          (one) => [nameOf(one["exported"]), nameOf(one["local"])] as const
        )
        if (from === undefined) throw new Error(`${file}:${lineAt(statement.start)} is exported apart from where it is`)
        passedOn.push({ from: String(from), names: new Map(names) })
        continue
      }
      const variable = listOf(declaration["declarations"])[0]
      const init = nodeOf(variable?.["init"])
      const name = nameOf(variable?.["id"] ?? declaration["id"])
      exports.push({
        name,
        kind: kindOf(declaration, init, text),
        line: lineAt(statement.start),
        docstring: found(before(statement.start), name)
      })
      for (const member of listOf(nodeOf(declaration["body"])?.["body"])) {
        if (declaration.type === "ClassDeclaration") found(before(member.start), `${name}.${nameOf(member["key"])}`)
      }
    }
  }
  const docstrings = blocks.map((block) => ({
    line: lineAt(block.start),
    text: textOf(block.value),
    of: owners.get(block) ?? (block === first ? "the module" : "what is not exported")
  }))
  return { docstrings, exports, passedOn }
}

/** A module by the name it is imported by, with all that it exports, wherever that is written. */
export interface Module {
  readonly name: string
  readonly file: string
  readonly docstring: Docstring | undefined
  readonly exports: ReadonlyArray<Export & { readonly file: string }>
}

/** The public modules among these sources, given by path from the root of the repository. */
export const modulesOf = (sources: ReadonlyMap<string, string>): ReadonlyArray<Module> => {
  const read = new Map([...sources].map(([file, text]) => [file, readDocstrings(file, text)]))
  const exportsOf = (file: string): Module["exports"] => {
    const source = read.get(file)
    if (source === undefined) throw new Error(`${file} is not there`)
    // what stands at `export … from` is seen neither by an editor nor by TypeDoc
    const others = source.passedOn.flatMap(({ from, names }) => {
      const passed = exportsOf(path.posix.join(path.posix.dirname(file), from))
      return names === "all"
        ? passed
        : [...names].flatMap(([name, local]) =>
            passed.filter((one) => one.name === local).map((one) => ({ ...one, name }))
          )
    })
    return [...source.exports.map((one) => ({ ...one, file })), ...others]
  }
  return [...sources.keys()].flatMap((file) => {
    const [, name, module] = /^packages\/([^/]+)\/src\/([^/]+)\.ts$/.exec(file) ?? []
    if (name === undefined) return []
    const docstring = read.get(file)!.docstrings.find(({ of }) => of === "the module")
    return [{ name: `@holdfast/${name}/${module}`, file, docstring, exports: exportsOf(file) }]
  })
}

/** The sources of the packages, below the root of the repository. */
export const sourcesIn = (root: string): ReadonlyMap<string, string> =>
  new Map(
    packages
      .map((name) => `packages/${name}/src`)
      .flatMap((folder) =>
        fs
          .readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
          .map((file) => `${folder}/${file.replaceAll("\\", "/")}`)
      )
      .filter((file) => file.endsWith(".ts"))
      .toSorted()
      .map((file) => [file, fs.readFileSync(path.join(root, file), "utf8")])
  )

const hasExample = (docstring: Docstring | undefined): boolean => /^```ts$/m.test(docstring?.text ?? "")

/**
 * What is missing, one sentence each.
 *
 * Every export has a docstring with a summary, a category and since when it is there; every module has at least one
 * example, and so has each function and each service. Errors, schemas, constants and types are shown where they are used.
 */
export const missingIn = (modules: ReadonlyArray<Module>): ReadonlyArray<string> =>
  modules.flatMap(({ docstring, exports, file }) => {
    const module = [
      ...(docstring === undefined ? [`${file}:1 the module has no docstring`] : []),
      ...(docstring !== undefined && !isSummed(docstring) ? [`${file}:1 the module has no summary`] : []),
      ...(docstring !== undefined && !/^@since \d/m.test(docstring.text) ? [`${file}:1 the module has no @since`] : []),
      ...([docstring, ...exports.map((one) => one.docstring)].some(hasExample)
        ? []
        : [`${file}:1 the module has no example`])
    ]
    const own = exports
      .filter((one) => !/^@internal$/m.test(one.docstring?.text ?? ""))
      .flatMap((one) => {
        const at = `${one.file}:${one.line} ${one.name}`
        if (one.docstring === undefined) return [`${at} has no docstring`]
        const { text } = one.docstring
        const needed = one.kind === "function" || one.kind === "service"
        return [
          ...(isSummed(one.docstring) ? [] : [`${at} has no summary`]),
          ...(/^@category \S/m.test(text) ? [] : [`${at} has no @category`]),
          ...(/^@since \d/m.test(text) ? [] : [`${at} has no @since`]),
          ...(needed && !hasExample(one.docstring) ? [`${at} has no example`] : [])
        ]
      })
    return [...module, ...own]
  })

/** The first paragraph ends as a sentence does. */
const isSummed = ({ text }: Docstring): boolean => /^[^@*\s][^]*?[.:](\n\n|\n@|$)/.test(text)
