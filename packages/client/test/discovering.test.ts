import { assert, describe, it } from "@effect/vitest"
import * as Credential from "@holdfast/lifecycle/Credential"
import * as LifecycleShell from "@holdfast/lifecycle/LifecycleShell"
import { paths as pathsOf, type ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { make } from "../src/internal/discovering.ts"
import { registration, spec, stranger, temporary } from "./support.ts"

/** An owner that ends the connection of whoever dials it, once it has done something. */
const leaving = (does: (paths: ServicePaths) => void) =>
  Effect.gen(function* () {
    const paths = pathsOf({ ...spec, directory: yield* temporary })
    Credential.establish(paths.secret)
    const { url } = yield* stranger((socket) => {
      does(paths)
      socket.destroy()
    })
    fs.writeFileSync(paths.registration, JSON.stringify({ ...registration, url, pid: process.pid }))
    return paths
  })

const find = (paths: ServicePaths) => Effect.promise(() => make(paths).find())

describe("an owner that is dialled", () => {
  it.live("and has left meanwhile is not there, and not one that does not answer", () =>
    Effect.gen(function* () {
      const paths = yield* leaving((paths) => fs.rmSync(paths.registration, { force: true }))
      assert.deepStrictEqual(yield* find(paths), { _tag: "Missing", holder: undefined })
    })
  )

  it.live("and is followed by another meanwhile: that one is found", () =>
    Effect.gen(function* () {
      let next = { url: "", instanceID: "two" }
      const paths = yield* leaving((paths) =>
        fs.writeFileSync(paths.registration, JSON.stringify({ ...registration, ...next, pid: process.pid }))
      )
      const secret = Credential.load(paths.secret)
      if (secret._tag !== "Secret") return assert.fail(secret._tag)
      const shell = yield* Effect.acquireRelease(
        Effect.promise(() =>
          LifecycleShell.open({
            version: "1.0.0",
            instanceID: next.instanceID,
            secret: secret.secret,
            token: Credential.random(),
            port: 0,
            drainMs: 1000
          })
        ),
        (shell) => Effect.promise(() => shell.close())
      )
      next = { ...next, url: shell.url }
      const found = yield* find(paths)
      assert.strictEqual(found._tag === "Reachable" ? found.health.instanceID : found._tag, "two")
    })
  )

  it.live("and is still the registered one does not answer", () =>
    Effect.gen(function* () {
      const paths = yield* leaving(() => undefined)
      assert.deepInclude(yield* find(paths), { _tag: "Unreachable", owner: "unknown", silent: false })
    })
  )
})
