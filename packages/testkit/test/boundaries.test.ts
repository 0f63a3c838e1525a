import { assert, describe, it } from "@effect/vitest"
import type { Ready } from "@holdfast/client/ServiceClient"
import { signal } from "@holdfast/lock/identity"
import { unless } from "@holdfast/testkit/Capability"
import type { Testkit } from "@holdfast/testkit/Testkit"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { type ClientOptions, clientSays, may, shim } from "./elsewhere.ts"
import { boots, isReady, withKit } from "./withKit.ts"

/** Whatever a client from elsewhere may not touch. */
const records = (kit: Testkit["Service"]) =>
  [kit.paths.registration, kit.paths.owner, kit.paths.secret].map((file) => fs.readFileSync(file, "utf8"))

/** A client that cannot reach the owner says so, and has written, started and removed nothing. */
const isLeftAsItWas = (kit: Testkit["Service"], owner: Ready, before: ReadonlyArray<string>, from: ClientOptions) =>
  Effect.gen(function* () {
    const state = (yield* clientSays("status", kit.paths.directory, from)).value
    assert.strictEqual(state.status.type, "unreachable")
    assert.deepStrictEqual(records(kit), before)
    assert.deepStrictEqual(boots(kit), [owner.pid])
    assert.deepStrictEqual(yield* kit.client.ensure(), owner)
  })

describe.concurrent("a client on the other side of a boundary", () => {
  const pids = unless("pid namespace")
  it.live.skipIf(pids.skip)(
    `in a pid namespace of its own uses the running service, and can stop it${pids.suffix}`,
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const owner = yield* kit.client.ensure()
          const before = records(kit)
          const from = { before: yield* kit.otherNamespace("pid") }
          assert.deepStrictEqual((yield* clientSays("ensure", kit.paths.directory, from)).value, owner)
          assert.strictEqual(
            (yield* clientSays("status", kit.paths.directory, from)).value.registration.instanceID,
            owner.instanceID
          )
          assert.deepStrictEqual(records(kit), before)
          assert.deepStrictEqual(boots(kit), [owner.pid])
          const restarted = yield* clientSays("restart", kit.paths.directory, from)
          assert.strictEqual(restarted.value._tag, "Restarted", restarted.output)
          // the service it started there ended with its namespace; what it left does not keep the next from starting
          const next = yield* kit.client.ensure()
          assert.notStrictEqual(next.instanceID, restarted.value.ready.instanceID)
          assert.strictEqual((yield* isReady(kit)).registration?.pid, next.pid)
          assert.strictEqual((yield* clientSays("stop", kit.paths.directory, from)).value._tag, "Stopped")
        })
      ),
    60_000
  )

  const network = unless("network namespace")
  it.live.skipIf(network.skip)(
    `in a network namespace of its own says who owns and that it cannot be reached; nothing is changed${network.suffix}`,
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const owner = yield* kit.client.ensure()
          const before = records(kit)
          const from = { before: yield* kit.otherNamespace("network"), deadlineMs: 3000 }
          const said = yield* clientSays("ensure", kit.paths.directory, from)
          assert.strictEqual(said.error?._tag, "ServiceNotReady", said.output)
          assert.include(said.error?.message, `PID ${owner.pid} owns it and cannot be reached at ${owner.url}`)
          yield* isLeftAsItWas(kit, owner, before, from)
        })
      ),
    60_000
  )

  const mounts = unless("mount namespace")
  it.live.skipIf(mounts.skip)(
    `without /proc uses, stops, restarts and starts a service: the lock is the truth${mounts.suffix}`,
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const from = { before: yield* kit.otherNamespace("mount") }
          const { directory } = kit.paths
          assert.strictEqual((yield* clientSays("stop", directory, from)).value._tag, "NotRunning")
          const started = yield* clientSays("ensure", directory, from)
          assert.isString(started.value?.instanceID, started.output)
          assert.deepStrictEqual((yield* kit.client.ensure()).instanceID, started.value.instanceID)
          assert.deepStrictEqual((yield* clientSays("ensure", directory, from)).value, started.value)
          assert.strictEqual((yield* clientSays("restart", directory, from)).value._tag, "Restarted")
          assert.strictEqual((yield* clientSays("stop", directory, from)).value._tag, "Stopped")
          assert.lengthOf(boots(kit), 2)
          // and with an owner that everybody else can identify
          const owner = yield* kit.client.ensure()
          assert.deepStrictEqual((yield* clientSays("ensure", directory, from)).value, owner)
          assert.strictEqual((yield* clientSays("stop", directory, from)).value._tag, "Stopped")
        })
      ),
    60_000
  )

  const container = unless("pid namespace", "host namespace")
  it.live.skipIf(container.skip)(
    `in a new container over the same home starts at once, whatever process has the recorded pid there by now${container.suffix}`,
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const container = yield* kit.otherNamespace("pid", "host")
          const inContainer = (script: string) => ({
            before: [...container, "sh", "-c", `${script}; "$@"; kill -0 $stranger && echo unharmed`, "sh"]
          })
          const first = yield* clientSays("ensure", kit.paths.directory, inContainer("hostname a; stranger=1"))
          for (const hostname of ["a", "b"]) {
            const { pid } = JSON.parse(fs.readFileSync(kit.paths.owner, "utf8")) as { readonly pid: number }
            const until = `while :; do sleep 60 & stranger=$!; test $stranger -lt ${pid} || break; done`
            const next = yield* clientSays(
              "ensure",
              kit.paths.directory,
              inContainer(`hostname ${hostname}; ${until}; test $stranger -eq ${pid} || echo missed`)
            )
            assert.isString(next.value?.instanceID, next.output)
            assert.notStrictEqual(next.value.instanceID, first.value.instanceID)
            assert.include(next.output, "unharmed")
            assert.notInclude(next.output, "missed")
          }
        })
      ),
    60_000
  )

  const user = unless("otherUser")
  it.live.skipIf(user.skip)(
    `as a user who may not even signal the process with the recorded pid starts the service${user.suffix}`,
    () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const { directory, registration } = kit.paths
          const registered = { schema: 1, instanceID: "x", version: "1.0.0", url: "http://127.0.0.1:1", pid: 1 }
          fs.writeFileSync(registration, JSON.stringify(registered), { mode: 0o600 })
          fs.chmodSync(path.dirname(directory), 0o755)
          for (const one of [directory, ...fs.readdirSync(directory).map((name) => path.join(directory, name))])
            fs.chownSync(one, 12345, 12345)
          const from = { before: yield* kit.otherUser() }
          const said = yield* clientSays("ensure", directory, from)
          assert.isString(said.value?.instanceID, said.output)
          assert.strictEqual((yield* clientSays("stop", directory, from)).value._tag, "Stopped")
        })
      ),
    60_000
  )

  it.live.skipIf(!may.compile)("whose service hangs in the system's lock call ends at its deadline (needs cc)", () =>
    withKit({}, (kit) =>
      Effect.gen(function* () {
        // of the service alone: a client locks nothing on a file system whose locks may hang
        const hang = [
          "#define _GNU_SOURCE",
          "#include <dlfcn.h>\n#include <stdlib.h>\n#include <unistd.h>",
          "int flock(int fd, int operation) {",
          '  if (getenv("CLIENT") == NULL) sleep(60);',
          '  int (*real)(int, int) = dlsym(RTLD_NEXT, "flock");',
          "  return real(fd, operation); }"
        ].join("\n")
        const library = shim(path.dirname(kit.paths.directory), "hangs", hang)
        const said = yield* clientSays("ensure", kit.paths.directory, {
          env: { LD_PRELOAD: library, CLIENT: "yes" }, // which the service does not get
          deadlineMs: 2000
        })
        assert.strictEqual(said.error?._tag, "ServiceNotReady", said.output)
        for (const { identity } of kit.processes()) assert.isTrue(signal(identity, "SIGKILL"))
      })
    )
  )

  for (const [what, errno] of [
    ["permission denied", "EPERM"],
    ["access denied", "EACCES"],
    ["network unreachable", "ENETUNREACH"],
    ["too many open files", "EMFILE"]
  ] as const) {
    it.live.skipIf(!may.compile)(
      `whose connects and signals fail with ${what} removes, writes and starts nothing, and says what failed (needs cc)`,
      () =>
        withKit({}, (kit) =>
          Effect.gen(function* () {
            const owner = yield* kit.client.ensure()
            const before = records(kit)
            const deny = (signature: string, otherwise: string) =>
              `int ${signature} { if (${otherwise}) { errno = ${errno}; return -1; }`
            const library = shim(
              path.dirname(kit.paths.directory),
              "denied",
              [
                "#define _GNU_SOURCE",
                "#include <errno.h>\n#include <dlfcn.h>\n#include <sys/socket.h>",
                `${deny("connect(int fd, const struct sockaddr *to, socklen_t length)", "to->sa_family == AF_INET")}`,
                '  int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");',
                "  return real(fd, to, length); }",
                `${deny("kill(int pid, int number)", "1")} }`
              ].join("\n")
            )
            const from = { env: { LD_PRELOAD: library }, deadlineMs: 3000 }
            const ensured = yield* clientSays("ensure", kit.paths.directory, from)
            assert.strictEqual(ensured.error?._tag, "ServiceNotReady", ensured.output)
            assert.include(ensured.error?.message, errno)
            yield* isLeftAsItWas(kit, owner, before, from)
          })
        ),
      60_000
    )
  }
})
