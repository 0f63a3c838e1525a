/** The laws' own checks: each notices a service that breaks it, and says the number of the law. */
import { assert, describe, it } from "@effect/vitest"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as laws from "@holdfast/testkit/laws"
import { Testkit } from "@holdfast/testkit/Testkit"
import { Effect, Layer, Stream } from "effect"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { programOf } from "./fixture/programs.ts"
import { withPictures } from "./pictures.ts"
import { serviceOf, setKnobs } from "./fixture/service.ts"

const mutants: ReadonlyArray<readonly [law: number, breaks: string, words: RegExp]> = [
  [1, "boots without the lock", /ran the application/],
  [2, "forgets epochs", /the lease went from epoch/],
  [2, "lowers the fence", /the fence accepted epoch/],
  [3, "imports first", /loser \d+ loaded/],
  [3, "lingers when it lost", /still there after|lived for/],
  [4, "kills the owner", /was ended|another instance/],
  [5, "keeps the lock after its death", /ms after it was free|the successor has the lock/],
  [6, "removes what is there when it ends", /registration was gone/],
  [7, "signals whom the records name", /a stranger was sent SIGTERM/],
  [8, "leaves a process behind", /only the owner is left/],
  [9, "has a client that ends with a connection", /a client that followed ended/],
  [10, "prints its secret", /the secret is in the log/],
  [10, "puts its secret into an argument", /the secret is in the process list/]
]

/** An application's client that takes a lost connection for the end. */
const shortLived = (spec: ServiceSpec) =>
  Layer.effect(
    ServiceClient,
    Effect.map(ServiceClient, (client) =>
      ServiceClient.of({
        ...client,
        changes: client.changes.pipe(Stream.takeWhile(({ status }) => status.type === "ready"))
      })
    )
  ).pipe(Layer.provide(ServiceClient.layer(spec)))

describe.concurrent("a service that", () => {
  for (const [number, breaks, words] of mutants) {
    it.live(
      `${breaks} breaks law ${number}, and its check says so`,
      () =>
        withPictures((timelines) => {
          const law = laws.all.find((one) => one.number === number)!
          const spec = { ...serviceOf({}), entry: pathToFileURL(programOf("lawless")) }
          const options = {
            timelines,
            fence: ({ directory }: ServicePaths) => path.join(directory, "fenced.db"),
            ...(number === 9 ? { client: shortLived } : {})
          }
          return Effect.gen(function* () {
            const kit = yield* Testkit
            setKnobs(kit.paths.directory, { breaks })
            return yield* law.check
          }).pipe(
            Effect.provide(Testkit.layer(spec, options)),
            Effect.exit,
            Effect.map((exit) => {
              assert.strictEqual(exit._tag, "Failure", "it was not noticed")
              const told = JSON.stringify(exit)
              assert.include(told, `Law ${number} is broken: `)
              assert.match(told, words)
            })
          )
        }),
      90_000
    )
  }
})
