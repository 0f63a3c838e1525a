import { assert, describe, it } from "@effect/vitest"
import { createServiceClient } from "@holdfast/client/promise"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Fiber, Layer, Schedule } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { boots, isReady, withKit } from "./withKit.ts"

describe.concurrent("restarts", () => {
  it.live(
    "Ten concurrent restart observers produce one application initialization for each of three restarts, and lose no call",
    () =>
      withKit({ closeMs: 300 }, (kit) =>
        Effect.gen(function* () {
          const first = yield* kit.client.ensure()
          const clients = yield* Effect.acquireRelease(
            Effect.sync(() => Array.from({ length: 10 }, () => createServiceClient(kit.spec))),
            (all) => Effect.promise(() => Promise.all(all.map((one) => one.dispose())))
          )
          const errors: Array<unknown> = []
          const answers = new Map<string, number>()
          let done = false
          const calling = yield* Effect.forEach(
            clients,
            (client) =>
              Effect.promise(async () => {
                try {
                  const response = await client.fetch("/hello")
                  const text = `${response.status} ${await response.text()}`
                  answers.set(text, (answers.get(text) ?? 0) + 1)
                } catch (error) {
                  errors.push(error)
                }
              }).pipe(Effect.repeat({ schedule: Schedule.fixed("50 millis"), until: () => done })),
            { concurrency: "unbounded", discard: true }
          ).pipe(Effect.forkScoped)
          const pids = [first.pid]
          for (let round = 0; round < 3; round++) {
            yield* kit.eventually(
              "all clients are served by the owner there is",
              () => answers.get(`200 hello from ${pids.at(-1)}`) ?? 0,
              (count) => count >= 20
            )
            const outcome = yield* kit.client.restart()
            assert.strictEqual(outcome._tag, "Restarted")
            pids.push((yield* isReady(kit)).registration!.pid)
          }
          yield* kit.eventually(
            "all clients are served by the last owner",
            () => answers.get(`200 hello from ${pids.at(-1)}`) ?? 0,
            (count) => count >= 20
          )
          done = true
          yield* Fiber.join(calling)
          assert.deepStrictEqual(errors, [])
          assert.sameMembers(
            [...answers.keys()],
            pids.map((pid) => `200 hello from ${pid}`)
          )
          assert.deepStrictEqual(boots(kit), pids)
        })
      ),
    60_000
  )
})

const packages = fileURLToPath(new URL("../..", import.meta.url))

/** A program with this library in it, as an installer puts it into a directory: all of what it runs is below that. */
const install = (place: string, version: string): void => {
  for (const name of ["lock", "lifecycle"]) {
    const copy = path.join(place, "lib", name)
    fs.cpSync(path.join(packages, name, "src"), path.join(copy, "src"), { recursive: true })
    fs.copyFileSync(path.join(packages, name, "package.json"), path.join(copy, "package.json"))
  }
  const link = (name: string, to: string) => {
    fs.mkdirSync(path.dirname(path.join(place, "node_modules", name)), { recursive: true })
    fs.symlinkSync(to, path.join(place, "node_modules", name))
  }
  for (const name of ["lock", "lifecycle"]) link(`@holdfast/${name}`, path.join(place, "lib", name))
  for (const name of ["effect", "@effect/platform-node", `@koromix/koffi-${process.platform}-${process.arch}`]) {
    const [found] = ["lifecycle", "lock"]
      .map((owner) => path.join(packages, owner, "node_modules", name))
      .filter(fs.existsSync)
    link(name, fs.realpathSync(found!))
  }
  fs.writeFileSync(path.join(place, "package.json"), '{ "type": "module" }')
  fs.writeFileSync(
    path.join(place, "daemon.ts"),
    `import { define } from "@holdfast/lifecycle/ServiceSpec"
     import { runDaemon } from "@holdfast/lifecycle/daemon"
     const spec = define({ app: "fixture", title: "Fixture", version: "${version}", entry: new URL(import.meta.url) })
     await runDaemon(spec, () => import("./application.ts"))`
  )
  fs.writeFileSync(
    path.join(place, "application.ts"),
    `import * as Application from "@holdfast/lifecycle/Application"
     import * as HttpRouter from "effect/http/HttpRouter"
     import * as HttpServerResponse from "effect/http/HttpServerResponse"
     import * as Effect from "effect/Effect"
     export default Application.make(
       HttpRouter.add("GET", "/version", Effect.succeed(HttpServerResponse.text("${version}")))
     )`
  )
}

const as = <A, E, R>(spec: ServiceSpec, use: (client: ServiceClient["Service"]) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(ServiceClient, use).pipe(Effect.provide(Layer.fresh(ServiceClient.layer(spec))))
const version = (client: ServiceClient["Service"]) =>
  Effect.flatMap(client.http.get("/version"), (response) => response.text)

describe.concurrent("a program that is replaced under its running service", () => {
  const installed = (kit: Testkit["Service"], number: string): ServiceSpec => {
    const place = path.join(path.dirname(kit.paths.directory), "program")
    fs.rmSync(place, { recursive: true, force: true })
    install(place, number)
    return { ...kit.spec, version: number, entry: { command: process.execPath, args: [path.join(place, "daemon.ts")] } }
  }
  const removed = (kit: Testkit["Service"]) =>
    fs.rmSync(path.join(path.dirname(kit.paths.directory), "program"), { recursive: true })

  it.live(
    "Background installation alone does not restart the service; it stops cleanly without its files, and a launch ends on the next version",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const v1 = installed(kit, "1.0.0")
          yield* as(v1, (client) => client.launch())
          assert.strictEqual(yield* version(kit.client), "1.0.0")
          removed(kit)
          assert.strictEqual(yield* version(kit.client), "1.0.0")
          assert.strictEqual((yield* kit.client.state).status.type, "ready")
          const owner = yield* kit.owner
          assert.strictEqual((yield* as(v1, (client) => client.stop()))._tag, "Stopped")
          yield* owner.exited
          assert.isFalse(fs.existsSync(kit.paths.registration))

          yield* as(installed(kit, "1.0.0"), (client) => client.launch())
          const v2 = installed(kit, "2.0.0")
          assert.strictEqual(yield* version(kit.client), "1.0.0")
          const ready = yield* as(v2, (client) => client.launch())
          assert.strictEqual(ready.version, "2.0.0")
          assert.strictEqual(yield* version(kit.client), "2.0.0")
          yield* as(v2, (client) => client.stop())
          const log = fs.readFileSync(kit.paths.log, "utf8")
          assert.notMatch(log, /ERR_MODULE_NOT_FOUND|Cannot find|WARN|ERROR|took too long|left behind/)
          assert.lengthOf(log.match(/ stopped$/gm) ?? [], 3)
        })
      ),
    60_000
  )
})
