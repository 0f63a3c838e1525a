import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import {
  InvalidKey,
  isStateName,
  paths,
  profileOf,
  resolve,
  type ServiceKey,
  type Surroundings,
  validate
} from "../src/ServicePaths.ts"
import { asNobody, hands, lacking, mayBecomeNobody, runtimes, temporary } from "./support.ts"

const around = (more: Partial<Surroundings> = {}): Surroundings => ({
  platform: "linux",
  environment: {},
  home: () => "/home/ada",
  cwd: () => "/somewhere/here",
  ...more
})

const refusal = (attempt: () => unknown): InvalidKey => {
  try {
    attempt()
  } catch (error) {
    if (error instanceof InvalidKey) return error
    throw error
  }
  throw new Error("it was not refused")
}

const oneSentence = /^[A-Z][^\n]*\.$/

describe("the state directory", () => {
  const named = { CODESEARCH_STATE_DIR: "/srv/named", HOME: "/home/other", XDG_STATE_HOME: "/xdg", TMPDIR: "/scratch" }
  it.each<[string, ServiceKey, Partial<Surroundings>, string]>([
    [
      "the directory option comes first",
      { app: "codesearch", directory: "/srv/opt" },
      { environment: named },
      "/srv/opt"
    ],
    ["<APP>_STATE_DIR comes second", { app: "codesearch" }, { environment: named }, "/srv/named"],
    [
      "an empty <APP>_STATE_DIR counts as unset",
      { app: "codesearch" },
      { environment: { CODESEARCH_STATE_DIR: "" } },
      "/home/ada/.local/state/codesearch"
    ],
    [
      "another application's variable is not ours",
      { app: "code" },
      { environment: named },
      "/home/ada/.local/state/code"
    ],
    [
      "the home of the password database comes third, whatever HOME and XDG say",
      { app: "codesearch" },
      { environment: { HOME: "/home/other", XDG_STATE_HOME: "/xdg" } },
      "/home/ada/.local/state/codesearch"
    ],
    [
      "HOME comes last",
      { app: "codesearch" },
      { home: () => undefined, environment: { HOME: "/home/other" } },
      "/home/other/.local/state/codesearch"
    ],
    [
      "a dash in the name is an underscore in the variable",
      { app: "code-search" },
      { environment: { CODE_SEARCH_STATE_DIR: "/srv/x" } },
      "/srv/x"
    ],
    [
      "a relative option counts from the current directory",
      { app: "codesearch", directory: "state/../deep" },
      {},
      "/somewhere/here/deep"
    ],
    [
      "a relative variable counts from the current directory",
      { app: "codesearch" },
      { environment: { CODESEARCH_STATE_DIR: "s" } },
      "/somewhere/here/s"
    ],
    [
      "macOS has its own place",
      { app: "codesearch" },
      { platform: "darwin", home: () => "/Users/ada" },
      "/Users/ada/Library/Application Support/codesearch"
    ],
    ["other Unixes are as Linux", { app: "codesearch" }, { platform: "freebsd" }, "/home/ada/.local/state/codesearch"]
  ])("%s", (_, key, surroundings, directory) => {
    const found = resolve(key, around(surroundings))
    assert.strictEqual(found.directory, directory)
    for (const file of Object.values(found))
      assert.isTrue(file === directory || path.posix.dirname(file) === directory, file)
  })

  it.each<[string, Partial<Surroundings>, string]>([
    [
      "in LOCALAPPDATA",
      { environment: { LOCALAPPDATA: "C:\\Users\\ada\\AppData\\Local" } },
      "C:\\Users\\ada\\AppData\\Local\\codesearch"
    ],
    [
      "in the home where LOCALAPPDATA is missing",
      { home: () => "C:\\Users\\ada" },
      "C:\\Users\\ada\\AppData\\Local\\codesearch"
    ],
    ["where <APP>_STATE_DIR says", { environment: { CODESEARCH_STATE_DIR: "D:\\state" } }, "D:\\state"]
  ])("on Windows it is %s, whatever machine computes it", (_, surroundings, directory) => {
    const found = resolve({ app: "codesearch" }, around({ platform: "win32", cwd: () => "C:\\work", ...surroundings }))
    assert.strictEqual(found.directory, directory)
    assert.strictEqual(found.lock, `${directory}\\service.lock`)
  })

  it.each<[string, Partial<Surroundings>]>([
    ["no home at all", { home: () => undefined }],
    ["an empty HOME", { home: () => undefined, environment: { HOME: "" } }],
    ["a relative HOME", { home: () => undefined, environment: { HOME: "here" } }],
    ["a relative home in the password database", { home: () => "somewhere" }]
  ])("with %s it is an error that names the variable to set", (_, surroundings) => {
    const error = refusal(() => resolve({ app: "code-search" }, around(surroundings)))
    assert.match(error.message, oneSentence)
    assert.include(error.action, "CODE_SEARCH_STATE_DIR")
  })

  it("the same key and surroundings give the same paths, and the process is not asked", () => {
    const before = process.env["CODESEARCH_STATE_DIR"]
    process.env["CODESEARCH_STATE_DIR"] = "/elsewhere"
    try {
      assert.deepStrictEqual(resolve({ app: "codesearch" }, around()), resolve({ app: "codesearch" }, around()))
      assert.strictEqual(resolve({ app: "codesearch" }, around()).directory, "/home/ada/.local/state/codesearch")
    } finally {
      if (before === undefined) delete process.env["CODESEARCH_STATE_DIR"]
      else process.env["CODESEARCH_STATE_DIR"] = before
    }
  })
})

describe("the file names", () => {
  const base = (key: Omit<ServiceKey, "app">) => path.posix.basename(resolve({ app: "a", ...key }, around()).lock)
  it.each<[Omit<ServiceKey, "app">, string]>([
    [{}, "service.lock"],
    [{ channel: "stable", profile: "default" }, "service.lock"],
    [{ channel: "preview" }, "service-preview-default.lock"],
    [{ profile: "work" }, "service-stable-work.lock"],
    [{ channel: "work", profile: "default" }, "service-work-default.lock"],
    [{ channel: "default", profile: "work" }, "service-default-work.lock"],
    [{ channel: "default", profile: "stable" }, "service-default-stable.lock"]
  ])("%j is %s: both defaults are hidden together or not at all", (key, file) => {
    assert.strictEqual(base(key), file)
  })

  it("are those of DESIGN §8, and the budget lives in the spawn lock's own file", () => {
    assert.deepStrictEqual(resolve({ app: "a", directory: "/s" }, around()), {
      directory: "/s",
      lock: "/s/service.lock",
      spawnLock: "/s/service.spawn.lock",
      owner: "/s/service.owner.json",
      registration: "/s/service.json",
      lease: "/s/service.lease.db",
      secret: "/s/service.secret",
      continuity: "/s/service.continuity.json",
      log: "/s/service.log",
      budget: "/s/service.spawn.lock",
      cache: "/s/service.cache"
    })
  })

  const name = Schema.String.check(Schema.isPattern(/^[a-z0-9_]{1,32}$/))
  const key = Schema.Struct({
    app: Schema.Union([
      Schema.Literals(["code", "code-search"]),
      Schema.String.check(Schema.isPattern(/^[a-z0-9][a-z0-9-]{0,31}$/))
    ]),
    channel: Schema.Union([Schema.Literals(["stable", "default", "work"]), name]),
    profile: Schema.Union([Schema.Literals(["stable", "default", "work"]), name])
  })
  const files = (one: ServiceKey, surroundings = around()) => {
    const { budget: _, directory: __, ...rest } = resolve(one, surroundings)
    return Object.values(rest)
  }
  const together = (left: typeof key.Type, right: typeof key.Type): boolean =>
    left.app === right.app && left.channel === right.channel && left.profile === right.profile

  it.prop(
    "two different keys never name one file",
    [key, key],
    ([left, right]) => {
      const shared = files(left).filter((file) => files(right).includes(file))
      assert.strictEqual(shared.length, together(left, right) ? 9 : 0, shared.join())
    },
    { arbitrary: { runs: 500 } }
  )

  it.prop(
    "two keys of one application in one directory never name one file",
    [key, key],
    ([left, right]) => {
      const [one, other] = [left, { ...right, app: left.app }]
      const place = around({ environment: { [`${left.app.toUpperCase().replaceAll("-", "_")}_STATE_DIR`]: "/s" } })
      const shared = files(one, place).filter((file) => files(other, place).includes(file))
      assert.strictEqual(shared.length, together(one, other) ? 9 : 0, shared.join())
    },
    { arbitrary: { runs: 500 } }
  )

  it.each<[string, string, string, Partial<Surroundings>]>([
    [
      "names that differ only in case, where the file system ignores it",
      "codeSearch",
      "codesearch",
      { platform: "darwin" }
    ],
    [
      "- and _ in a name, when <APP>_STATE_DIR is set",
      "code-search",
      "code_search",
      { environment: { CODE_SEARCH_STATE_DIR: "/s" } }
    ]
  ])("two applications never share one: %s", (_, left, right, surroundings) => {
    // refusing one of the two names is as good
    const lockOf = (app: string) => {
      try {
        return resolve({ app }, around(surroundings)).lock.toLowerCase()
      } catch {
        return app
      }
    }
    assert.notStrictEqual(lockOf(left), lockOf(right))
  })
})

describe("names", () => {
  const bad = [
    "",
    "../x",
    "..",
    "a/b",
    "a\\b",
    "A",
    "with space",
    "with-dash",
    "é",
    "a\nb",
    "a\0",
    "x".repeat(33),
    "a.b",
    "$HOME",
    "~"
  ]
  it.each(bad.flatMap((value) => [{ channel: value }, { profile: value }]))(
    "%j is refused with one sentence",
    (key) => {
      const error = refusal(() => resolve({ app: "a", ...key }, around()))
      assert.match(error.message, oneSentence)
      assert.match(error.action, oneSentence)
      assert.include(error.message, "channel" in key ? "channel" : "profile")
    }
  )

  it.each(["", "../x", "a/b", "-a", "_a", "A", "a b", ".a", "x".repeat(33), "a\n", "é"])(
    "the application %j is refused with one sentence",
    (app) => {
      const error = refusal(() => resolve({ app }, around()))
      assert.match(error.message, oneSentence)
      assert.match(error.action, oneSentence)
    }
  )

  it.each(["a", "0", "x".repeat(32), "a_0"])("the channel and profile %j are fine", (name) => {
    assert.deepStrictEqual(validate({ app: "a", channel: name, profile: name }), {
      app: "a",
      channel: name,
      profile: name
    })
  })

  it.prop(
    "whatever the names are, every file lies in the directory",
    [Schema.String, Schema.String],
    ([channel, profile]) => {
      let found
      try {
        found = resolve({ app: "a", channel, profile, directory: "/s" }, around())
      } catch (error) {
        assert.instanceOf(error, InvalidKey)
        return
      }
      for (const file of Object.values(found)) assert.match(file, /^\/s(\/service[a-z0-9_.-]*)?$/)
    }
  )
})

describe("a workspace's profile", () => {
  it.live("is the same for every name of one directory, and another for another", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      for (const name of ["one", "two"]) fs.mkdirSync(path.join(root, name))
      fs.symlinkSync(path.join(root, "one"), path.join(root, "link"))
      const real = profileOf(path.join(root, "one"))
      assert.match(real, /^[0-9a-f]{16}$/)
      for (const name of ["one/", "link", "./one/../one", "two/../link/."])
        assert.strictEqual(profileOf(`${root}/${name}`), real, name)
      assert.strictEqual(profileOf(path.relative(process.cwd(), path.join(root, "one"))), real)
      assert.notStrictEqual(profileOf(path.join(root, "two")), real)
      assert.notStrictEqual(profileOf(path.join(root, "absent")), profileOf(path.join(root, "absent2")))
    })
  )

  it("is a valid profile", () => {
    const profile = profileOf(os.tmpdir())
    assert.strictEqual(validate({ app: "a", profile }).profile, profile)
  })
})

describe("every runtime computes the same directory", () => {
  const environments: ReadonlyArray<[string, Record<string, string | undefined>]> = [
    ["set", {}],
    ["unset", { HOME: undefined }],
    ["foreign", { HOME: "/home/foreign" }]
  ]
  for (const runtime of runtimes.slice(1)) {
    it.live.skipIf(!runtime.installed)(
      `${runtime.name} as this process, with HOME set, unset and foreign${lacking(runtime)}`,
      () =>
        Effect.gen(function* () {
          for (const [, env] of environments) {
            const there = yield* hands({ runtime, env })
            assert.deepStrictEqual(
              yield* there.call("ServicePaths", "paths", { app: "codesearch" }),
              paths({ app: "codesearch" })
            )
          }
        })
    )
  }

  for (const runtime of runtimes) {
    it.live.skipIf(!runtime.installed || !mayBecomeNobody)(
      `${runtime.name} takes HOME for a user without an entry in the password database${mayBecomeNobody ? lacking(runtime) : " (needs setpriv)"}`,
      () =>
        Effect.gen(function* () {
          const there = yield* hands({ runtime, before: asNobody, env: { HOME: "/home/nobody12345" } })
          const found = yield* there.call("ServicePaths", "paths", { app: "codesearch" })
          assert.strictEqual(found.directory, "/home/nobody12345/.local/state/codesearch")
          const homeless = yield* hands({ runtime, before: asNobody, env: { HOME: undefined } })
          const { error } = yield* homeless.call("ServicePaths", "paths", { app: "codesearch" })
          assert.match(error.message, oneSentence)
        })
    )
  }
})

describe("what a service keeps", () => {
  const own = paths({ app: "hello", directory: "/srv/hello" })
  const work = paths({ app: "hello", profile: "work", directory: "/srv/hello" })

  it.each([
    "service.json",
    "service.owner.json",
    "service.lease.db",
    "service.lease.db-journal",
    "service.secret",
    "service.continuity.json",
    "service.continuity.json.set-aside",
    "service.log",
    "service.log.1",
    "service.spawn.lock",
    "service.4b1f9c2e.sock",
    "service.json.4711.k3x9a1.tmp"
  ])("%s is this service's, and not another's in the same directory", (name) => {
    assert.isTrue(isStateName(own, name))
    assert.isFalse(isStateName(work, name))
    assert.isTrue(isStateName(work, name.replace("service", "service-stable-work")))
    assert.isFalse(isStateName(own, name.replace("service", "service-stable-work")))
  })

  it.each([
    "service.lock",
    "service",
    "service.db",
    "service.jsonl",
    "service.log.2",
    "service.log.gz",
    "index.db",
    "my-service.json",
    "service.4b1f9c2.sock",
    "service.json.tmp",
    "service.lock.4711.k3x9a1.tmp"
  ])("%s is not: the lock stays, and the application's files are its own", (name) => {
    assert.isFalse(isStateName(own, name))
  })
})
