import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "vitest"
import { indexOf } from "../api.ts"
import { missingIn, modulesOf, sourcesIn } from "../docstrings.ts"
import { type Example, examplesIn, failuresOf } from "../examples.ts"

const root = path.join(import.meta.dirname, "../..")
const sources = sourcesIn(root)

/** A public module whose only export has this example. */
const exampleOf = (text: string): ReadonlyArray<Example> => {
  const lines = [
    "/**",
    " * It is wrong.",
    " *",
    " * ```ts",
    ...text.split("\n").map((line) => ` * ${line}`),
    " * ```",
    " */"
  ]
  const source = `/** A module. */\n\n${lines.join("\n")}\nexport const wrong = 1\n`
  return examplesIn(new Map([["packages/lock/src/Wrong.ts", source]]))
}

describe("the examples in the docstrings", () => {
  it("each compiles, runs, and prints what it says", () => {
    const examples = examplesIn(sources)
    assert.isAbove(examples.length, 100)
    assert.deepStrictEqual(failuresOf(root, examples), [])
  }, 120_000)

  // the first line of these examples is line 7
  const broken: Record<string, readonly [example: string, failure: RegExp]> = {
    "a type error": [`export const n: number = "text"`, /:7 wrong: TS2322/],
    "an import that is not there": [`export * from "@holdfast/lock/Nothing"`, /:7 wrong: TS2307: .*Nothing/],
    "an import of what is internal": [`export * from "@holdfast/lock/internal/lease"`, /:7 wrong: TS2307: .*internal/],
    "an import that nobody uses": [`import * as os from "node:os"`, /:7 wrong: TS6133/],
    "an Effect left floating": [
      `import * as Effect from "effect/Effect"\nEffect.log("never")\nexport {}`,
      /:8 wrong: .*floatingEffect/
    ],
    "another value than it says": [`\nconsole.log(1 + 1) // => 3`, /:8 wrong: printed 2; expected 3/],
    "a value that is not said": [`console.log(1 + 1)`, /:7 wrong: printed 2, and no "\/\/ =>" says so/],
    "a value that is never printed": [`export const f = () => console.log(2) // => 2`, /:7 wrong: nothing was printed/],
    "an error that is thrown": [`throw new Error("thrown")`, /:7 wrong: Error: thrown/],
    "a promise that nobody waits for": [`void Promise.reject(new Error("rejected"))`, /:7 wrong: Error: rejected/]
  }

  const place = "dist/examples-broken"

  it("what is wrong with one is told by file, line and export; and that one of them started something", () => {
    const texts = [...Object.values(broken).map(([text]) => text), `setInterval(() => undefined, 1000)`]
    const failures = failuresOf(root, texts.flatMap(exampleOf), place)
    const all = JSON.stringify(failures, null, 2)
    for (const [what, [, failure]] of Object.entries(broken)) {
      const told = failures.filter((one) => failure.test(one) && one.startsWith("packages/lock/src/Wrong.ts:"))
      assert.lengthOf(told, 1, `${what} is told once, not in ${all}`)
    }
    assert.match(all, /the process did not end by itself: .*Timeout/)
    assert.lengthOf(failures, texts.length, all)
  }, 120_000)

  it("one that ends the process is told", () => {
    assert.match(failuresOf(root, exampleOf(`process.exit(0)`), place).join(), /:7 wrong: it ended the process/)
  }, 120_000)
})

describe("the docstrings", () => {
  const modules = modulesOf(sources)

  it("every export has one with a summary, a category and a version; functions, services and modules have examples", () => {
    assert.deepStrictEqual(missingIn(modules), [])
  })

  const whole = `/**\n * A module.\n *\n * @since 0.1.0\n */\n\n/**\n * Does it.\n *\n * \`\`\`ts\n * export {}\n * \`\`\`\n *\n * @category combinators\n * @since 0.1.0\n */\nexport const f = () => 1\n`
  const missing = (text: string, more: ReadonlyArray<[string, string]> = []) =>
    missingIn(modulesOf(new Map([["packages/lock/src/Some.ts", text], ...more])))

  it.each([
    ["nothing", whole, []],
    ["the docstring", `${whole}export const g = 1`, ["18 g has no docstring"]],
    ["the category", whole.replace(" * @category combinators\n", ""), ["16 f has no @category"]],
    ["the version", whole.replace(/@since 0.1.0(?=\n \*\/\nexport)/, ""), ["17 f has no @since"]],
    ["the summary", whole.replace(" * Does it.\n *\n", ""), ["15 f has no summary"]],
    ["its module's version", whole.replace("@since 0.1.0", ""), ["1 the module has no @since"]],
    [
      "the example of a function",
      `${whole}${whole.slice(whole.indexOf("\n\n") + 2).replace("```ts", "```sh")}`.replace(
        / f = \(\) => 1\n$/,
        " g = () => 1\n"
      ),
      ["28 g has no example"]
    ],
    ["any example", whole.replace("```ts", "```sh"), ["1 the module has no example", "17 f has no example"]],
    [
      "no example of a constant",
      `${whole}/**\n * One.\n *\n * @category models\n * @since 0.1.0\n */\nexport const one = 1`,
      []
    ],
    [
      "the example of a service",
      `${whole}/**\n * One.\n *\n * @category services\n * @since 0.1.0\n */\nexport class One extends Context.Service<One, {}>()("One") {}`,
      ["24 One has no example"]
    ]
  ])("what is missing is told: %s", (_, text, expected) => {
    assert.deepStrictEqual(
      missing(text),
      expected.map((one) => `packages/lock/src/Some.ts:${one}`)
    )
  })

  it("what a module passes on is looked at where it is written", () => {
    const passing = `${whole}export { g } from "./internal/g.ts"`
    assert.deepStrictEqual(missing(passing, [["packages/lock/src/internal/g.ts", "export const g = 1"]]), [
      "packages/lock/src/internal/g.ts:1 g has no docstring"
    ])
  })

  it("docs/api.md is what they say (node scripts/api.ts)", () => {
    assert.strictEqual(fs.readFileSync(path.join(root, "docs/api.md"), "utf8"), indexOf(modules))
  })
})
