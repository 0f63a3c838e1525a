import { assert, describe, it } from "@effect/vitest"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { may, shim } from "./elsewhere.ts"
import { boots, isReady, withKit } from "./withKit.ts"

/** Renames of a process that has it are refused as long as the file `held` is there. */
const holding = (kit: Testkit["Service"]) => {
  const root = path.dirname(kit.paths.directory)
  const held = path.join(root, "held")
  const library = shim(
    root,
    "refused",
    [
      "#define _GNU_SOURCE",
      "#include <dlfcn.h>\n#include <errno.h>\n#include <unistd.h>",
      "int rename(const char *from, const char *to) {",
      `  if (access("${held}", F_OK) == 0) { errno = EPERM; return -1; }`,
      '  return ((int (*)(const char *, const char *)) dlsym(RTLD_NEXT, "rename"))(from, to); }'
    ].join("\n")
  )
  return { environment: { LD_PRELOAD: library }, hold: () => fs.writeFileSync(held, ""), free: () => fs.rmSync(held) }
}

const temporaries = (kit: Testkit["Service"]) =>
  fs.readdirSync(kit.paths.directory).filter((name) => name.endsWith(".tmp"))

describe.concurrent("an owner whose renames are refused", () => {
  it.live.skipIf(!may.compile)(
    "at the start ends with one line that names the file, and leaves nothing (needs cc)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const { environment, free, hold } = holding(kit)
          hold()
          const [refused] = yield* kit.swarm(1, { environment })
          assert.notStrictEqual((yield* refused!.exited).code, 0)
          const lines = fs.readFileSync(kit.paths.log, "utf8").trim().split("\n")
          assert.match(lines.at(-1)!, /Cannot .*service\.[a-z.]*json: permission denied\./)
          assert.isEmpty(temporaries(kit))
          assert.isFalse(fs.existsSync(kit.paths.registration))
          assert.isEmpty(boots(kit))
          free()
          const [owner] = yield* kit.swarm(1, { environment })
          assert.strictEqual((yield* isReady(kit)).registration?.pid, owner!.pid)
        })
      )
  )

  it.live.skipIf(!may.compile)(
    "while it runs serves on, and puts its records back as soon as it may (needs cc)",
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const { environment, free, hold } = holding(kit)
          yield* kit.swarm(1, { environment })
          const { registration } = yield* isReady(kit)
          const good = fs.readFileSync(kit.paths.registration, "utf8")
          const secret = fs.readFileSync(kit.paths.secret, "utf8")
          hold()
          fs.writeFileSync(kit.paths.registration, "damaged")
          fs.writeFileSync(kit.paths.secret, "damaged")
          yield* kit.eventually(
            "it has tried",
            () => fs.readFileSync(kit.paths.log, "utf8"),
            (log) => /cannot reassert .*EPERM/.test(log)
          )
          assert.strictEqual(fs.readFileSync(kit.paths.registration, "utf8"), "damaged")
          assert.isEmpty(temporaries(kit))
          const health = yield* Effect.promise(() => fetch(`${registration!.url}/service/health`))
          assert.strictEqual(health.status, 401)
          free()
          yield* kit.eventually(
            "its records are back",
            () => [kit.paths.registration, kit.paths.secret].map((file) => fs.readFileSync(file, "utf8")),
            ([first, second]) => first === good && second === secret
          )
          assert.deepStrictEqual((yield* isReady(kit)).registration, registration)
          assert.lengthOf(boots(kit), 1)
        })
      ),
    60_000
  )
})
