/** A root whose first reading is cut short by a stop or an update, on real processes. */
import { assert, describe, it } from "@effect/vitest"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import { Testkit } from "@holdfast/testkit/Testkit"
import * as Effect from "effect/Effect"
import { HttpApiClient } from "effect/http-api"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import { Api, type Root } from "../src/api.ts"
import { pathToFileURL } from "node:url"
import { programOf } from "../../../scripts/programs.ts"
import * as source from "../src/service.ts"

const codesearch = {
  ...source.codesearch,
  environment: ["NODE_COMPILE_CACHE"],
  entry: pathToFileURL(programOf("codesearch-daemon"))
}

type Kit = Testkit["Service"]

const files = 3000

/** Large enough that a stop comes in the middle. */
const bigTree = (kit: Kit): string => {
  const root = path.join(path.dirname(kit.paths.directory), "tree")
  for (let n = 0; n < files; n++) {
    const directory = path.join(root, `d${n % 30}`)
    if (n < 30) fs.mkdirSync(directory, { recursive: true })
    fs.writeFileSync(path.join(directory, `f${n}.ts`), `export const value${n} = ${n} // needle\n`.repeat(200))
  }
  return root
}

const test = (name: string, body: (kit: Kit) => Effect.Effect<void, unknown>) =>
  it.live(
    name,
    () => Effect.flatMap(Testkit, body).pipe(Effect.scoped, Effect.provide(Testkit.layer(codesearch))),
    60_000
  )

const api = (client: ServiceClient["Service"]) => HttpApiClient.makeWith(Api, { httpClient: client.http })

/** Adds the tree, and returns while it is being read. */
const beginReading = (kit: Kit, root: string) =>
  Effect.gen(function* () {
    yield* kit.client.launch()
    const client = yield* api(kit.client)
    yield* client.add({ payload: { path: root } })
    return yield* until(kit.client, ({ indexed, state }) => state === "indexing" && indexed > 0)
  })

const until = (service: ServiceClient["Service"], condition: (root: Root) => boolean) =>
  Effect.gen(function* () {
    const client = yield* api(service)
    return yield* Effect.repeat(client.roots({}), {
      until: ([root]) => root !== undefined && condition(root)
    }).pipe(Effect.timeout("30 seconds"))
  })

const isRead = (service: ServiceClient["Service"]) =>
  Effect.gen(function* () {
    const [root] = yield* until(service, ({ state }) => state === "watching")
    assert.deepInclude(root, { indexed: files, total: files })
  })

const handedOver = (kit: Kit): unknown =>
  (JSON.parse(fs.readFileSync(kit.paths.continuity, "utf8")) as { readonly value: unknown }).value

/** A launch of the next version, which goes on reading. */
const readByNextVersion = (kit: Kit) =>
  Effect.gen(function* () {
    const client = yield* ServiceClient
    assert.strictEqual((yield* client.launch()).version, "0.2.0")
    yield* isRead(client)
  }).pipe(
    Effect.provide(
      Layer.fresh(
        ServiceClient.layer({
          ...kit.spec,
          version: "0.2.0",
          entry: pathToFileURL(programOf("codesearch-next"))
        })
      )
    )
  )

describe("a root whose first reading was cut short", () => {
  test("by a stop is read to its end by the next owner, and nobody has to name it again", (kit) =>
    Effect.gen(function* () {
      const root = bigTree(kit)
      yield* beginReading(kit, root)
      yield* kit.client.stop()
      assert.deepStrictEqual(handedOver(kit), [root])
      yield* kit.client.launch()
      yield* isRead(kit.client)
      assert.isFalse(fs.existsSync(kit.paths.continuity))
    }))

  test("by an update that begins a new index is read by the new version, and nobody has to name it again", (kit) =>
    Effect.gen(function* () {
      const root = bigTree(kit)
      yield* beginReading(kit, root)
      yield* kit.client.stop()
      fs.rmSync(path.join(kit.paths.directory, "service.index"), { recursive: true })
      yield* readByNextVersion(kit)
    }))

  test("by a launch of the next version is read to its end by that one", (kit) =>
    Effect.gen(function* () {
      const root = bigTree(kit)
      yield* beginReading(kit, root)
      yield* readByNextVersion(kit)
    }))

  test("is not handed over once it was read", (kit) =>
    Effect.gen(function* () {
      const root = bigTree(kit)
      yield* beginReading(kit, root)
      yield* isRead(kit.client)
      yield* kit.client.stop()
      assert.deepStrictEqual(handedOver(kit), [])
    }))
})
