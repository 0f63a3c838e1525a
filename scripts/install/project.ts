/** Projects of a new user: this library from its tarballs, by npm, pnpm or Bun. */
import * as fs from "node:fs"
import * as path from "node:path"
import { manifestOf, pnpm } from "../pack.ts"
import { must, shell } from "./run.ts"

export interface Packed {
  /** The tarball of each package, by its name. */
  readonly tarballs: ReadonlyMap<string, string>
  readonly bun: string
}

export type Installer = "npm" | "pnpm" | "bun"

/** The packages depend on each other by version, which only tarballs have until it is published. */
const library = ["@holdfast/lock", "@holdfast/lifecycle", "@holdfast/client"]

/** A command of a document, with tarballs for what it would take from the registry. */
export const fromTarballs = (line: string, { tarballs }: Packed): string =>
  line.replaceAll(/@holdfast\/\S+/g, (name) =>
    [...(name === "@holdfast/lifecycle" ? ["@holdfast/lock"] : []), name].map((one) => tarballs.get(one)).join(" ")
  )

const writeJson = (file: string, value: unknown): void => fs.writeFileSync(file, JSON.stringify(value, undefined, 2))

/** Installs into `folder` what the README's first `npm install` does; `bare`: without optional dependencies. */
export const install = async (
  folder: string,
  { bare, by, packed }: { readonly by: Installer; readonly bare: boolean; readonly packed: Packed }
): Promise<void> => {
  fs.mkdirSync(folder, { recursive: true })
  const ours = Object.fromEntries(library.map((name) => [name, `file:${packed.tarballs.get(name)}`]))
  const { peerDependencies } = manifestOf(path.join(import.meta.dirname, "../../packages/client"))
  writeJson(path.join(folder, "package.json"), {
    name: "hello",
    version: "1.0.0",
    private: true,
    type: "module",
    dependencies: { ...ours, ...peerDependencies },
    ...(by === "bun" ? { overrides: ours } : {})
  })
  if (by === "pnpm") writeJson(path.join(folder, "pnpm-workspace.yaml"), { overrides: ours }) // JSON is YAML
  const omit = bare ? [by === "pnpm" ? "--no-optional" : "--omit=optional"] : []
  const [command, ...args] = { npm: ["npm"], pnpm, bun: [packed.bun] }[by]
  await must(command!, [...args, "install", ...omit], { cwd: folder })
  const isThere = fs.existsSync(path.join(folder, "node_modules/.pnpm"))
    ? fs.readdirSync(path.join(folder, "node_modules/.pnpm")).some((name) => name.startsWith("@koromix"))
    : fs.existsSync(path.join(folder, "node_modules/@koromix"))
  if (isThere === bare) throw new Error(`${folder}: optional dependencies are ${bare ? "" : "not "}installed`)
}

/** Every line of the README's section, and what compiles and bundles, in one folder. */
export const installByReadme = async (folder: string, lines: ReadonlyArray<string>, packed: Packed): Promise<void> => {
  fs.mkdirSync(folder, { recursive: true })
  for (const line of lines) {
    await shell(fromTarballs(line, packed), { cwd: folder })
  }
}
