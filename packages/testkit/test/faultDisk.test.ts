import { assert, describe, it } from "@effect/vitest"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as identity from "@holdfast/lock/identity"
import * as Capability from "@holdfast/testkit/Capability"
import { Effect, Fiber } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { faulting, place } from "./faulting.ts"
import { isReady, withKit } from "./withKit.ts"

const codeOf = (body: () => unknown): string | undefined => {
  try {
    body()
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}

const writes = (paths: ServicePaths) =>
  codeOf(() => fs.writeFileSync(path.join(paths.directory, "x"), "x".repeat(5000)))

const isMounted = (directory: string) => fs.readFileSync("/proc/self/mountinfo", "utf8").includes(` ${directory} `)

const disk = Capability.unless("fullDisk")

describe("a full disk", () => {
  it.live.skipIf(disk.skip)(
    `takes no byte until there is space, is private, and is gone with its scope, as the files on it are${disk.suffix}`,
    () =>
      Effect.gen(function* () {
        const { faults, paths, told } = yield* place
        fs.writeFileSync(paths.log, "mine")
        yield* Effect.gen(function* () {
          const { fill, free } = yield* faults.fullDisk
          assert.isTrue(isMounted(paths.directory))
          assert.isFalse(fs.existsSync(paths.log))
          assert.strictEqual(fs.statSync(paths.directory).mode & 0o777, 0o700)
          assert.strictEqual(writes(paths), "ENOSPC")
          yield* free
          assert.isUndefined(writes(paths))
          yield* fill
          assert.strictEqual(
            codeOf(() => fs.writeFileSync(path.join(paths.directory, "y"), "y")),
            "ENOSPC"
          )
        }).pipe(Effect.scoped)
        assert.isFalse(isMounted(paths.directory))
        assert.deepStrictEqual(fs.readdirSync(paths.directory), [path.basename(paths.log)])
        const text = "a disk of 64 KiB is in the state directory's place"
        const [full, space] = ["the disk is full", "the disk has space"]
        assert.deepStrictEqual(told, [text, full, space, full, `no longer: ${text}`])
      }).pipe(Effect.scoped)
  )

  for (const verb of ["fullDisk", "readOnly"] as const) {
    it.live.skipIf(disk.skip)(`${verb} is undone when the test fails, and when it is interrupted${disk.suffix}`, () =>
      Effect.gen(function* () {
        const { faults, paths } = yield* place
        const failing = Effect.andThen(Effect.asVoid(faults[verb]), Effect.fail("no")).pipe(Effect.scoped)
        assert.strictEqual(yield* Effect.flip(failing), "no")
        assert.isFalse(isMounted(paths.directory))
        let isThere = false
        const endless = yield* Effect.asVoid(faults[verb]).pipe(
          Effect.andThen(Effect.sync(() => (isThere = isMounted(paths.directory)))),
          Effect.andThen(Effect.never),
          Effect.scoped,
          Effect.forkChild
        )
        yield* Effect.yieldNow.pipe(Effect.repeat({ until: () => isThere }), Effect.timeout("10 seconds"))
        yield* Fiber.interrupt(endless)
        assert.isFalse(isMounted(paths.directory))
        assert.isUndefined(writes(paths))
      }).pipe(Effect.scoped)
    )

    it.live.skipIf(disk.skip)(`${verb} is undone when the test process is killed${disk.suffix}`, () =>
      withKit({}, (kit) =>
        Effect.gen(function* () {
          const { paths, scratch } = yield* place
          const tester = yield* faulting(paths.directory, scratch, verb)
          yield* kit.eventually("it is mounted", tester.said, (said) => said !== "")
          assert.isTrue(isMounted(paths.directory), tester.said())
          tester.kill()
          yield* kit.eventually(
            "nothing is mounted",
            () => isMounted(paths.directory),
            (there) => !there
          )
          assert.isUndefined(writes(paths))
        })
      )
    )
  }

  it.live.skipIf(disk.skip)(`ends the owner that still lives on it, and the test is clean${disk.suffix}`, () =>
    Effect.gen(function* () {
      let owner: identity.ProcessIdentity | undefined
      yield* withKit({ children: true }, (kit) =>
        Effect.gen(function* () {
          const { free } = yield* kit.fullDisk
          yield* free
          const { pid } = yield* kit.client.ensure()
          owner = identity.ofPid(pid)
          assert.strictEqual((yield* isReady(kit)).registration?.pid, pid)
        })
      )
      assert.strictEqual(identity.state(owner!), "dead")
    })
  )
})

describe("a read-only state directory", () => {
  it.live.skipIf(disk.skip)(`shows its files, takes none, and takes them again afterwards${disk.suffix}`, () =>
    Effect.gen(function* () {
      const { faults, paths, told } = yield* place
      fs.writeFileSync(paths.log, "mine")
      yield* Effect.gen(function* () {
        yield* faults.readOnly
        assert.strictEqual(fs.readFileSync(paths.log, "utf8"), "mine")
        assert.strictEqual(writes(paths), "EROFS")
        assert.strictEqual(
          codeOf(() => fs.unlinkSync(paths.log)),
          "EROFS"
        )
      }).pipe(Effect.scoped)
      assert.isUndefined(writes(paths))
      assert.isFalse(isMounted(paths.directory))
      const text = "the state directory is read-only"
      assert.deepStrictEqual(told, [text, `no longer: ${text}`])
    }).pipe(Effect.scoped)
  )

  it.live.skipIf(disk.skip)(`over a full disk: both are undone, in order${disk.suffix}`, () =>
    Effect.gen(function* () {
      const { faults, paths } = yield* place
      yield* Effect.gen(function* () {
        const { free } = yield* faults.fullDisk
        yield* free
        yield* faults.readOnly
        assert.strictEqual(writes(paths), "EROFS")
      }).pipe(Effect.scoped)
      assert.isUndefined(writes(paths))
      assert.isFalse(isMounted(paths.directory))
    }).pipe(Effect.scoped)
  )
})
