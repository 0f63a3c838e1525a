import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { clientSays, may, type Verb } from "./elsewhere.ts"
import { below, end, one, places } from "./people.ts"
import { withKit } from "./withKit.ts"

describe.concurrent("root and the service of another user", () => {
  it.live.skipIf(!may.becomeNobody)(
    "a run as root in a user's directory is refused and leaves nothing of root's, also while that user's service runs (needs setpriv)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const [directory] = places(kit, one)
          const from = { before: yield* kit.otherUser(one) }
          const asRoot = Effect.gen(function* () {
            const { error, output } = yield* clientSays("ensure", directory!)
            assert.strictEqual(error?._tag, "DirectoryUnusable", output)
            assert.include(error?.message, "belongs to another user")
            for (const file of below(directory!)) assert.strictEqual(fs.lstatSync(file).uid, one, file)
          })
          yield* asRoot
          assert.deepStrictEqual(fs.readdirSync(directory!), [])
          const ready = yield* clientSays("ensure", directory!, from)
          assert.isString(ready.value?.instanceID, ready.output)
          for (const verb of ["status", "stop"] as const) yield* clientSays(verb, directory!)
          yield* asRoot
          assert.deepStrictEqual((yield* clientSays("ensure", directory!, from)).value, ready.value)
          yield* end(kit, ready.value.pid)
        })
      ),
    60_000
  )

  it.live.skipIf(!may.becomeNobody)(
    "whatever file of it a run as root has left is one message with its path, and no loop (needs setpriv)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const [directory] = places(kit, one)
          const from = { before: yield* kit.otherUser(one), deadlineMs: 5000 }
          const client = (verb: Verb) => clientSays(verb, directory!, from)
          yield* end(kit, (yield* client("ensure")).value.pid)
          for (const name of ["lock", "secret", "lease.db", "log", undefined]) {
            const file = name === undefined ? directory! : path.join(directory!, `service.${name}`)
            fs.chownSync(file, 0, 0)
            fs.chmodSync(file, name === undefined ? 0o700 : 0o600)
            const { error, output } = yield* client("ensure")
            assert.isDefined(error, output)
            assert.include(error?.message, file)
            assert.isNotEmpty(error?.action)
            assert.notInclude(error?.message, "\n")
            yield* kit.eventually("no process is left", kit.processes, (left) => left.length === 0)
            fs.chownSync(file, one, one)
          }
          const { output, value } = yield* client("ensure")
          assert.isString(value?.instanceID, output)
          yield* end(kit, value.pid)
        })
      ),
    60_000
  )
})
