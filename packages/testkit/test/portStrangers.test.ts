import { assert, describe, it } from "@effect/vitest"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import { tokenHeader } from "@holdfast/lifecycle/Credential"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import type { Manners } from "@holdfast/testkit/Fault"
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { clientSays } from "./elsewhere.ts"
import { boots, withKit } from "./withKit.ts"

const as = <A, E>(spec: ServiceSpec, use: (client: ServiceClient["Service"]) => Effect.Effect<A, E>) =>
  Effect.flatMap(ServiceClient, use).pipe(Effect.provide(Layer.fresh(ServiceClient.layer(spec))))

const strangers: ReadonlyArray<readonly [string, Manners]> = [
  ["answers 200 to everything", "answers"],
  ["hangs", "hangs"],
  ["drips bytes", "drips"],
  ["streams for ever", "floods"]
]

const timed = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    const began = performance.now()
    return Effect.map(effect, (value) => ({ value, ms: performance.now() - began }))
  })

describe.concurrent("a stranger on the recorded port", () => {
  for (const [name, manners] of strangers) {
    for (const owner of ["dead", "unknown"] as const) {
      it.live(
        `that ${name}, with an owner that is ${owner}: status within two seconds, ensure within boot and three, and it learns nothing`,
        () =>
          withKit({}, (kit) =>
            Effect.gen(function* () {
              const boot = yield* timed(kit.client.launch())
              const secret = fs.readFileSync(kit.paths.secret, "utf8").trim()
              yield* Effect.flatMap(kit.owner, (one) => Effect.andThen(one.kill, one.exited))
              const stranger = yield* kit.occupyPort(manners)
              const record = JSON.parse(fs.readFileSync(kit.paths.registration, "utf8"))
              const pid = owner === "dead" ? record.pid : process.pid
              fs.writeFileSync(kit.paths.registration, JSON.stringify({ ...record, pid, url: stranger.url }))

              const status = yield* timed(as(kit.spec, ({ state }) => state))
              assert.strictEqual(status.value.status.type, "unreachable")
              assert.isBelow(status.ms, 2000)
              // the same asked by a program, whose own start is not the stranger's doing
              const told = yield* clientSays("status", kit.paths.directory)
              assert.strictEqual(told.value?.status.type, "unreachable", told.output)

              const next = yield* timed(as(kit.spec, (client) => client.ensure()))
              assert.isBelow(next.ms, boot.ms + 3000)
              assert.deepStrictEqual(boots(kit), [boot.value.pid, next.value.pid])
              // who had a session with the dead owner asks, too
              const answer = yield* Effect.flatMap(kit.client.http.get("/hello"), ({ text }) => text)
              assert.strictEqual(answer, `hello from ${next.value.pid}`)

              if (owner === "dead") assert.strictEqual(stranger.connections(), 0)
              else assert.isAbove(stranger.connections(), 0)
              const received = stranger.received()
              for (const form of ["base64url", "base64", "hex", "latin1"] as const)
                assert.notInclude(received, Buffer.from(secret, "base64url").toString(form))
              assert.notInclude(received.toLowerCase(), tokenHeader)
              assert.notInclude(received, "/hello")
            })
          )
      )
    }
  }
})
