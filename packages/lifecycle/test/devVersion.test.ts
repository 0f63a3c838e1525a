import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { define, devVersion, isOutdated } from "../src/ServiceSpec.ts"
import { temporary } from "./support.ts"

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 2, 3, 4, seconds, 5))
const second = (seconds: number) => `20260102T0304${String(seconds).padStart(2, "0")}005Z`

/** Writes each file, changed that many seconds after the first moment; a name that ends in a slash is a directory. */
const write = (root: string, files: Readonly<Record<string, number>>): void => {
  for (const [name, seconds] of Object.entries(files)) {
    const file = path.join(root, name)
    fs.mkdirSync(name.endsWith("/") ? file : path.dirname(file), { recursive: true })
    if (name.endsWith("/")) continue
    fs.writeFileSync(file, "{}")
    fs.utimesSync(file, at(seconds), at(seconds))
  }
}
const checkout = { ".git/": 0, "package.json": 1, "src/service.ts": 2, "src/deep/er/part.js": 3 }
const urlOf = (root: string, file = "src/service.ts") => pathToFileURL(path.join(root, file)).href

describe("the version in a checkout", () => {
  it.live.each<[string, Readonly<Record<string, number>>, number]>([
    ["is of the newest source of the package", {}, 3],
    ["is of its package.json, which names what it is made of", { "package.json": 9 }, 9],
    ["is of a file far from the module", { "src/deep/er/part.js": 9 }, 9],
    ["is of a component, too", { "src/view.tsx": 9 }, 9],
    ["is not of dependencies", { "node_modules/x/index.js": 9, "src/node_modules/y.js": 9 }, 3],
    ["is not of what was built", { "dist/main.js": 9, "build/main.js": 9, "src/out/main.js": 9 }, 3],
    ["is not of tests", { "test/a.ts": 9, "src/service.test.ts": 9, "src/a.spec.mts": 9 }, 3],
    ["is not of hidden files, or of texts", { ".cache/a.js": 9, "README.md": 9, "src/data.json": 9 }, 3],
    ["is not of another package of the repository", { "../other/src/a.ts": 9 }, 3]
  ])("%s", ([, more, newest]) =>
    Effect.gen(function* () {
      const root = path.join(yield* temporary, "package")
      write(root, { ...checkout, ...more })
      assert.strictEqual(devVersion("1.0.0", urlOf(root)), `1.0.0+dev.${second(newest)}`)
    })
  )

  it.live("is a build of the version, also of one that is a build already, and is found by whichever module asks", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      write(root, checkout)
      assert.strictEqual(devVersion("1.0.0-rc.1+7", urlOf(root)), `1.0.0-rc.1+7.dev.${second(3)}`)
      assert.strictEqual(devVersion("1.0.0", urlOf(root, "src/deep/er/part.js")), devVersion("1.0.0", urlOf(root)))
      assert.strictEqual(devVersion("1.0.0", `${urlOf(root)}?again#1`), devVersion("1.0.0", urlOf(root)))
      const version = devVersion("1.0.0", urlOf(root))
      assert.match(version, /^\d+\.\d+\.\d+\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*$/)
      const entry = new URL(urlOf(root))
      assert.strictEqual(define({ app: "x", version, entry }).version, version)
    })
  )

  it.live("is outdated once a source was changed, added or brought back from long ago, and not before", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      write(root, checkout)
      const spec = { entry: new URL(urlOf(root)), version: devVersion("1.0.0+7", urlOf(root)) }
      assert.isFalse(isOutdated(spec))
      assert.isFalse(isOutdated({ ...spec, version: "1.0.0" }), "no version of a checkout")
      assert.isFalse(isOutdated({ ...spec, entry: { command: "x", args: [] } }), "nowhere to look")
      for (const change of [{ "src/service.ts": 4 }, { "src/new.ts": 4 }, { "src/deep/er/part.js": 0 }] as const) {
        write(root, change as Record<string, number>)
        assert.isTrue(isOutdated(spec), JSON.stringify(change))
        fs.rmSync(path.join(root, "src"), { recursive: true })
        write(root, checkout)
        assert.isFalse(isOutdated(spec))
      }
    })
  )
})

describe("the version stays as it is", () => {
  it.live.each<[string, Readonly<Record<string, number>>, string]>([
    ["outside of a repository", { "package.json": 1, "src/service.ts": 1 }, "src/service.ts"],
    ["outside of a package", { ".git/": 0, "service.ts": 1 }, "service.ts"],
    [
      "installed below node_modules",
      { ...checkout, "node_modules/hello/package.json": 1, "node_modules/hello/src/service.ts": 1 },
      "node_modules/hello/src/service.ts"
    ],
    ["in what was built", { ...checkout, "dist/main.js": 9 }, "dist/main.js"],
    ["without the module", checkout, "src/gone.ts"]
  ])("%s", ([, files, file]) =>
    Effect.gen(function* () {
      const root = yield* temporary
      write(root, files)
      assert.strictEqual(devVersion("1.0.0", urlOf(root, file)), "1.0.0")
    })
  )

  it.each([
    "",
    "file:///$bunfs/root/hello",
    "https://hello.example/a.js",
    "data:text/javascript,1",
    "file://host/x",
    "x"
  ])("with %j as its module", (url) => {
    assert.strictEqual(devVersion("1.0.0", url), "1.0.0")
  })
})

it("in this repository it is computed quickly", () => {
  const took = [0, 1, 2].map(() => {
    const before = performance.now()
    const version = devVersion("1.0.0", import.meta.resolve("../src/ServiceSpec.ts"))
    assert.match(version, /^1\.0\.0\+dev\.\d{8}T\d{9}Z$|^1\.0\.0$/)
    return performance.now() - before
  })
  assert.isBelow(Math.min(...took), 50, took.join()) // nothing is kept between them; a busy machine is late now and then
})
