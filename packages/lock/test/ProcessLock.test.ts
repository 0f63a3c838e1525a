import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as CliError from "effect/cli/CliError"
import * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as path from "node:path"
import * as v8 from "node:v8"
import * as vm from "node:vm"
import * as ExitCode from "../src/ExitCode.ts"
import { enter, type HeldLock } from "../src/gate.ts"
import { LockFailed, LockHeld, LockUnsupported, ProcessLock } from "../src/ProcessLock.ts"
import { hands, temporary } from "./support.ts"

const lockPath = Effect.map(temporary, (directory) => path.join(directory, "service.lock"))
const take = (lock: string) => Effect.promise(() => enter(lock, { retryForMs: 0 }))
const tagOf = (lock: string) => Effect.map(take(lock), ({ _tag }) => _tag)

const held = (lock: string) =>
  Effect.map(take(lock), (outcome): HeldLock => {
    if (outcome._tag !== "Acquired") throw new Error(outcome._tag)
    return outcome.lock
  })

/** Builds the layer in a scope of the test's own. */
const build = <E>(layer: Layer.Layer<ProcessLock, E>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const lock = yield* Layer.buildWithScope(layer, scope).pipe(
      Effect.flatMap((context) => Effect.provideContext(ProcessLock, context))
    )
    return { lock, close: Scope.close(scope, Exit.void) }
  })

describe("the lock as a scoped service", () => {
  it.live("is held for the life of the scope, and free after it", () =>
    Effect.gen(function* () {
      const path = yield* lockPath
      const { close, lock } = yield* build(ProcessLock.layer(path))
      assert.strictEqual(lock.path, path)
      assert.include(lock.primitive, "flock")
      assert.strictEqual(yield* tagOf(path), "Held")
      yield* close
      assert.isTrue(fs.existsSync(path))
      assert.strictEqual(yield* tagOf(path), "Acquired")
    })
  )

  it.live("is free after a scope that failed, too", () =>
    Effect.gen(function* () {
      const path = yield* lockPath
      const exit = yield* Effect.fail("no").pipe(Effect.provide(ProcessLock.layer(path)), Effect.exit)
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(yield* tagOf(path), "Acquired")
    })
  )

  it.live("can be taken again and again in one process, one after the other", () =>
    Effect.gen(function* () {
      const path = yield* lockPath
      for (let round = 0; round < 20; round++) {
        assert.isTrue(
          yield* Effect.flatMap(ProcessLock, (lock) => lock.stillOurs).pipe(
            Effect.provide(Layer.fresh(ProcessLock.layer(path)))
          )
        )
      }
      const before = fs.readdirSync("/proc/self/fd").length
      for (let round = 0; round < 20; round++) {
        const { close } = yield* build(ProcessLock.layer(path))
        yield* close
      }
      assert.isAtMost(fs.readdirSync("/proc/self/fd").length, before + 2, "no descriptor is left open")
    })
  )

  it.live("a held lock is the error LockHeld, with the thing to do", () =>
    Effect.gen(function* () {
      const path = yield* lockPath
      yield* held(path)
      const error = yield* build(ProcessLock.layer(path)).pipe(Effect.flip)
      assert.instanceOf(error, LockHeld)
      assert.strictEqual(error.path, path)
      assert.strictEqual(error.action, "Use the running service, or stop it first.")
    })
  )

  it.live("a path that cannot be locked is the error LockFailed, with the system's code", () =>
    Effect.gen(function* () {
      const missing = path.join(yield* temporary, "absent", "service.lock")
      const error = yield* build(ProcessLock.layer(missing)).pipe(Effect.flip)
      assert.instanceOf(error, LockFailed)
      assert.deepInclude(error, { code: "ENOENT", path: missing })
    })
  )

  it.live("is not lost to garbage collection when nobody refers to it any more", () =>
    Effect.gen(function* () {
      const path = yield* lockPath
      yield* take(path)
      v8.setFlagsFromString("--expose-gc")
      const collect = vm.runInNewContext("gc") as () => void
      for (let round = 0; round < 5; round++) {
        collect()
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      }
      assert.strictEqual(yield* tagOf(path), "Held")
    })
  )

  it.live("a child that the holder starts keeps nothing of the lock", () =>
    Effect.gen(function* () {
      const path = yield* lockPath
      const { close } = yield* build(ProcessLock.layer(path))
      const child = yield* hands()
      yield* close
      assert.strictEqual(
        yield* child.call("gate", "enter", path, { retryForMs: 0 }).pipe(Effect.map(({ _tag }) => _tag)),
        "Acquired"
      )
    })
  )
})

describe("whether it is still ours", () => {
  const changes: ReadonlyArray<[string, boolean, (lock: string) => void]> = [
    ["nothing happened", true, () => undefined],
    ["its mode and times changed", true, (lock) => (fs.chmodSync(lock, 0o644), fs.utimesSync(lock, 0, 0))],
    ["text was written into it", true, (lock) => fs.writeFileSync(lock, "x")],
    ["it got a second name", true, (lock) => fs.linkSync(lock, `${lock}.second`)],
    ["it was deleted", false, (lock) => fs.rmSync(lock)],
    [
      "it was deleted and made again",
      false,
      (lock) => (fs.linkSync(lock, `${lock}.kept`), fs.rmSync(lock), fs.writeFileSync(lock, ""))
    ],
    [
      "another file was renamed over it",
      false,
      (lock) => (fs.writeFileSync(`${lock}.new`, ""), fs.renameSync(`${lock}.new`, lock))
    ],
    ["a directory stands in its place", false, (lock) => (fs.rmSync(lock), fs.mkdirSync(lock))],
    [
      "it was moved away and back",
      true,
      (lock) => (fs.renameSync(lock, `${lock}.away`), fs.renameSync(`${lock}.away`, lock))
    ]
  ]
  it.live.each(changes)("%s: %s", ([, expected, change]) =>
    Effect.gen(function* () {
      const path = yield* lockPath
      const { close, lock } = yield* build(ProcessLock.layer(path))
      assert.isTrue(yield* lock.stillOurs)
      change(path)
      assert.strictEqual(yield* lock.stillOurs, expected)
      yield* close
    })
  )

  it.live("its directory was moved away, and another stands there", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const [state, away] = [path.join(directory, "state"), path.join(directory, "away")]
      fs.mkdirSync(state)
      const { close, lock } = yield* build(ProcessLock.layer(path.join(state, "service.lock")))
      fs.cpSync(state, `${state}.copy`, { recursive: true })
      fs.renameSync(state, away)
      assert.isFalse(yield* lock.stillOurs)
      fs.renameSync(`${state}.copy`, state)
      assert.isFalse(yield* lock.stillOurs)
      yield* close
    })
  )
})

describe("going on with a lock that the gate took", () => {
  it.live("it is released with the scope", () =>
    Effect.gen(function* () {
      const path = yield* lockPath
      const { close, lock } = yield* build(ProcessLock.layerAdopted(yield* held(path)))
      assert.isTrue(yield* lock.stillOurs)
      assert.strictEqual(yield* tagOf(path), "Held")
      yield* close
      assert.strictEqual(yield* tagOf(path), "Acquired")
    })
  )

  it.live("with release: process it outlives the scope", () =>
    Effect.gen(function* () {
      const path = yield* lockPath
      const { close } = yield* build(ProcessLock.layerAdopted(yield* held(path), { release: "process" }))
      yield* close
      assert.strictEqual(yield* tagOf(path), "Held")
    })
  )

  it.live("it can be adopted once: the second time is a defect, and the lock stays with the first", () =>
    Effect.gen(function* () {
      const path = yield* lockPath
      const lock = yield* held(path)
      const first = yield* build(ProcessLock.layerAdopted(lock))
      const exit = yield* build(Layer.fresh(ProcessLock.layerAdopted(lock))).pipe(Effect.exit)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.strictEqual(yield* tagOf(path), "Held")
      yield* first.close
      const again = yield* build(Layer.fresh(ProcessLock.layerAdopted(lock))).pipe(Effect.exit)
      assert.isTrue(Exit.isFailure(again) && Cause.hasDies(again.cause), "also after it was released")
    })
  )

  it.live("a value that only looks like a held lock is a defect", () =>
    Effect.gen(function* () {
      const real = yield* held(yield* lockPath)
      const exit = yield* build(ProcessLock.layerAdopted({ ...real })).pipe(Effect.exit)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    })
  )
})

describe("the three errors", () => {
  const said = { path: "/p", message: "What happened.", action: "What to do." }
  it.each([
    [new LockHeld({ ...said, pid: 7 }), "LockHeld", ExitCode.unavailable],
    [new LockUnsupported(said), "LockUnsupported", ExitCode.unsupported],
    [new LockFailed({ ...said, code: "EIO" }), "LockFailed", ExitCode.cannotCreate]
  ] as const)("%s", (error, tag, code) => {
    assert.strictEqual(error._tag, tag)
    assert.strictEqual(Runtime.getErrorExitCode(error), code)
    assert.strictEqual((error as never as Record<string, unknown>)[CliError.userMessage], "What happened. What to do.")
    assert.instanceOf(error, Error)
  })
})
