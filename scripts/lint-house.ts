/**
 * The house rules that a general linter cannot express. `npm run lint` runs them on the whole tree, and
 * scripts/test/lint-house.test.ts shows that each of them is able to fail.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { type Call, type Import, type Module, readModule } from "./read-module.ts"

interface Rule {
  readonly why: string
  readonly appliesTo: (file: string) => boolean
  readonly broken: (module: Module) => ReadonlyArray<Import | Call>
}

export interface Finding {
  readonly file: string
  readonly line: number
  readonly rule: string
  readonly message: string
}

/** The modules marked ∅ in the design: they run in the first milliseconds, before Effect is loaded. */
export const withoutEffect: ReadonlyArray<string> = Object.entries({
  "packages/lock/src":
    "ServicePaths gate identity files OwnerNote StateDirectory Problem ExitCode step lease fileSystem probeHello",
  "packages/lifecycle/src":
    "ServiceSpec daemon StartupOutcome LegacyRegistration Credential LifecycleShell ServingProbe",
  "packages/lifecycle/src/internal":
    "lifecycle secret address handshake exchange session registration reply reserved eventStreams listen connections socketFile answering serviceRoutes stopWatchdog logFile owner own startupPipe uses duration compileCache devVersion",
  "packages/client/src/internal":
    "look contender decide logEnd budget spawnLock spawning directoryWatch begun discovering statusCode",
  "packages/client/src": "quick"
}).flatMap(([folder, modules]) => modules.split(" ").map((module) => `${folder}/${module}.ts`))

/** What crosses a process boundary: all that a client may know of the owner's package. */
const wire = /^(ServiceSpec|ServiceStatus|ServiceHealth|Registration|LifecycleApi|Refusal|StartupOutcome|Credential)$/

/** Each package may import those before it. */
export const order = ["lock", "lifecycle", "client", "testkit"]

const barrel = /^effect(\/[a-z][a-z-]*)?$|^@effect\/platform-[a-z-]+$/
const http = /^(node:)?https?2?$|^undici$|^effect\/http(-api)?(\/|$)|^@effect\/platform-[a-z-]+\/.*Http/

const isSource = (file: string): boolean => /^packages\/[^/]+\/src\//.test(file)
const isTest = (file: string): boolean => /^(packages|examples)\/[^/]+\/test\/.*\.test\.ts$/.test(file)
const isWithoutEffect = (file: string): boolean =>
  withoutEffect.includes(file) || file.startsWith("packages/lock/src/internal/")

/** The source file of this repository that an import names, or "" for a package from outside. */
export const target = (from: string, specifier: string): string => {
  if (specifier.startsWith(".")) return path.posix.join(path.posix.dirname(from), specifier)
  const [, name, module] = /^@holdfast\/([^/]+)\/(.+)$/.exec(specifier) ?? []
  return name === undefined ? "" : `packages/${name}/src/${module}.ts`
}

export const rules: Readonly<Record<string, Rule>> = {
  "no-barrel": {
    why: "a barrel loads everything behind it at each start; import the module itself, as in `effect/Effect`",
    appliesTo: isSource,
    broken: ({ imports }) => imports.filter(({ specifier }) => barrel.test(specifier))
  },
  "without-effect": {
    why: "this module runs before Effect is loaded: it may import its own kind and types, and reaches Node by `process.getBuiltinModule`",
    appliesTo: isWithoutEffect,
    broken: ({ file, imports }) =>
      imports.filter(({ kind, specifier }) => kind === "static" && !isWithoutEffect(target(file, specifier)))
  },
  "lock-no-http": {
    why: "who owns a service is decided without any network",
    appliesTo: (file) => file.startsWith("packages/lock/src/"),
    broken: ({ calls, imports }) => [
      ...imports.filter(({ specifier }) => http.test(specifier)),
      ...calls.filter(
        ({ argument, callee }) => callee === "fetch" || (/Module$|^require/.test(callee) && http.test(argument))
      )
    ]
  },
  "one-way": {
    why: `packages depend one way and by name: ${order.toReversed().join(" → ")}`,
    appliesTo: isSource,
    broken: ({ file, imports }) =>
      imports.filter(({ specifier }) => {
        const own = file.split("/")[1] ?? ""
        const other = target(file, specifier).split("/")[1]
        if (other === undefined) return false
        return specifier.startsWith(".") ? other !== own : !order.slice(0, order.indexOf(own)).includes(other)
      })
  },
  "client-wire-only": {
    why: "a client knows of the owner only what crosses the process boundary",
    appliesTo: (file) => file.startsWith("packages/client/src/"),
    broken: ({ imports }) =>
      imports.filter(({ specifier }) => {
        const module = /^@holdfast\/lifecycle\/(.+)$/.exec(specifier)?.[1]
        return module !== undefined && !wire.test(module)
      })
  },
  "clock-is-a-service": {
    why: "tests move the clock: use Effect's Clock, sleep or Schedule",
    appliesTo: (file) => isSource(file) && !isWithoutEffect(file) && !file.includes("/internal/"),
    broken: ({ calls }) =>
      calls.filter(({ callee }) => /^(Date\.now|(new )?Date|(globalThis\.)?set(Timeout|Interval))$/.test(callee))
  },
  "tests-run": {
    why: "a test that does not run protects nobody; `skipIf` is counted and names what is missing",
    appliesTo: isTest,
    // not what is given to `skipIf`: that may well be a field named `skip`
    broken: ({ calls }) =>
      calls.filter(({ callee }) => /\.(only|skip|todo)(\W|$)/.test(callee.replace(/\((?:[^()]|\([^()]*\))*\)/g, "")))
  },
  "tests-wait-for-facts": {
    why: "a sleep is slow on a fast machine and too short on a slow one; wait for what is meant",
    appliesTo: isTest,
    broken: ({ calls, imports }) => [
      ...calls.filter(({ callee }) => /^(Effect\.sleep|(globalThis\.)?setTimeout)$/.test(callee)),
      ...imports.filter(({ specifier }) => /^(node:)?timers(\/|$)/.test(specifier))
    ]
  }
}

/** Every breach of a rule in these sources, given by path from the root of the repository. */
export const lint = (sources: ReadonlyMap<string, string>): ReadonlyArray<Finding> =>
  [...sources].flatMap(([file, text]) => {
    const applying = Object.entries(rules).filter(([, { appliesTo }]) => appliesTo(file))
    if (applying.length === 0) return []
    const module = readModule(file, text)
    return applying.flatMap(([rule, { broken, why }]) =>
      broken(module).map((at) => ({
        file,
        line: at.line,
        rule,
        message: `${"callee" in at ? at.callee : at.specifier}: ${why}`
      }))
    )
  })

/** The sources that the rules speak about, below the root of the repository. */
export const sourcesOf = (root: string): ReadonlyMap<string, string> =>
  new Map(
    ["packages", "examples"]
      .flatMap((group) => fs.readdirSync(path.join(root, group)).map((name) => `${group}/${name}`))
      .flatMap((home) => [`${home}/src`, `${home}/test`])
      .filter((folder) => fs.existsSync(path.join(root, folder)))
      .flatMap((folder) =>
        fs
          .readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
          .map((file) => `${folder}/${file.replaceAll("\\", "/")}`)
      )
      .filter((file) => /\.m?ts$/.test(file))
      .map((file) => [file, fs.readFileSync(path.join(root, file), "utf8")])
  )

if (process.argv[1] === import.meta.filename) {
  const sources = sourcesOf(path.join(import.meta.dirname, ".."))
  const findings = lint(sources)
  for (const { file, line, message, rule } of findings) process.stderr.write(`${file}:${line} ${rule}: ${message}\n`)
  if (findings.length === 0) process.stdout.write(`house rules: nothing found in ${sources.size} files\n`)
  process.exitCode = findings.length === 0 ? 0 : 1
}
