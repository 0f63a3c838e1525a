import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import * as files from "../src/files.ts"
import { asNobody, hands, inOwnMounts, mayBecomeNobody, mayMount, temporary } from "./support.ts"

const place = Effect.map(temporary, (directory) => ({ directory, file: path.join(directory, "service.json") }))

describe("reading a record", () => {
  it.live("its text, mode and owner", () =>
    Effect.gen(function* () {
      const { file } = yield* place
      fs.writeFileSync(file, "höw\n", { mode: 0o640 })
      assert.deepStrictEqual(files.read(file), { _tag: "Text", text: "höw\n", mode: 0o640, uid: process.geteuid!() })
    })
  )

  it.live("only a file that is not there is absent", () =>
    Effect.gen(function* () {
      const { directory, file } = yield* place
      assert.deepStrictEqual(files.read(file), { _tag: "Absent" })
      assert.deepStrictEqual(files.read(path.join(directory, "absent", "too")), { _tag: "Absent" })
      fs.writeFileSync(file, "")
      assert.deepInclude(files.read(file), { _tag: "Text", text: "" })
    })
  )

  it.live.each<[string, string, (file: string) => void]>([
    ["a directory", "EISDIR", (file) => fs.mkdirSync(file)],
    ["a circle of links", "ELOOP", (file) => fs.symlinkSync(file, file)],
    ["a file above 64 KiB", "EFBIG", (file) => fs.writeFileSync(file, Buffer.alloc(64 * 1024 + 1))],
    ["a file of 1 TiB", "EFBIG", (file) => (fs.writeFileSync(file, ""), fs.truncateSync(file, 2 ** 40))],
    ["an endless device", "EINVAL", (file) => fs.symlinkSync("/dev/zero", file)],
    ["a FIFO nobody writes to", "EINVAL", (file) => childProcess.execFileSync("mkfifo", [file])]
  ])("%s is unreadable, and told at once", ([, code, make]) =>
    Effect.gen(function* () {
      const { file } = yield* place
      make(file)
      const other = yield* hands() // what blocks must not block this test
      assert.deepStrictEqual(yield* other.call("files", "read", file), { _tag: "Unreadable", code })
    })
  )

  it.live("a socket, and a path through a file, are unreadable", () =>
    Effect.gen(function* () {
      const { directory, file } = yield* place
      const server = net.createServer()
      yield* Effect.callback<void>(
        (resume) => void server.listen(path.join(directory, "socket"), () => resume(Effect.void))
      )
      assert.deepInclude(files.read(path.join(directory, "socket")), { _tag: "Unreadable" })
      server.close()
      fs.writeFileSync(file, "x")
      assert.deepStrictEqual(files.read(path.join(file, "deeper")), { _tag: "Unreadable", code: "ENOTDIR" })
    })
  )

  it.live("a file of exactly 64 KiB is read", () =>
    Effect.gen(function* () {
      const { file } = yield* place
      fs.writeFileSync(file, "x".repeat(64 * 1024))
      assert.strictEqual(files.read(file)._tag, "Text")
    })
  )

  for (const [name, mode] of [
    ["a file", 0o755],
    ["a directory", 0o700]
  ] as const) {
    it.live.skipIf(!mayBecomeNobody)(`${name} we may not open is unreadable, never absent (needs setpriv)`, () =>
      Effect.gen(function* () {
        const { directory, file } = yield* place
        fs.writeFileSync(file, "secret", { mode: 0o600 })
        fs.chmodSync(directory, mode)
        const nobody = yield* hands({ before: asNobody })
        assert.deepStrictEqual(yield* nobody.call("files", "read", file), { _tag: "Unreadable", code: "EACCES" })
      })
    )
  }
})

describe("replacing a record", () => {
  it.live.each<[string, (file: string) => void]>([
    ["nothing", () => undefined],
    ["a file open to all", (file) => fs.writeFileSync(file, "old", { mode: 0o666 })],
    ["a dangling link", (file) => fs.symlinkSync("/nowhere/at/all", file)],
    ["a FIFO", (file) => childProcess.execFileSync("mkfifo", [file])]
  ])("it stands where %s was, private to us, alone in its directory", ([, prepare]) =>
    Effect.gen(function* () {
      const { directory, file } = yield* place
      prepare(file)
      const umask = process.umask(0)
      files.replace(file, "new")
      process.umask(umask)
      assert.strictEqual(fs.readFileSync(file, "utf8"), "new")
      const stat = fs.lstatSync(file)
      assert.isTrue(stat.isFile())
      assert.strictEqual(stat.mode & 0o777, 0o600)
      assert.deepStrictEqual(fs.readdirSync(directory), ["service.json"])
    })
  )

  it.live("what a link points to is not written through", () =>
    Effect.gen(function* () {
      const { directory, file } = yield* place
      const target = path.join(directory, "target")
      fs.writeFileSync(target, "theirs")
      fs.symlinkSync(target, file)
      files.replace(file, "ours")
      assert.strictEqual(fs.readFileSync(target, "utf8"), "theirs")
    })
  )

  it.live("a reader sees the old text or the new one, whole, at any moment", () =>
    Effect.gen(function* () {
      const { file } = yield* place
      const texts = ["a", "b"].map((letter) => letter.repeat(40_000))
      files.replace(file, texts[0]!)
      const writer = yield* hands()
      let done = false
      const writing = Effect.runPromise(
        Effect.gen(function* () {
          for (let round = 0; round < 60; round++) yield* writer.call("files", "replace", file, texts[round % 2])
        })
      ).finally(() => (done = true))
      const seen = new Set<string>()
      while (!done) {
        const reading = files.read(file)
        assert.strictEqual(reading._tag, "Text")
        if (reading._tag === "Text") seen.add(reading.text)
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      }
      yield* Effect.promise(() => writing)
      assert.sameMembers([...seen], texts)
    })
  )

  it.live("kill -9 between writing and renaming leaves the old record, and the next writer needs no cleaning", () =>
    Effect.gen(function* () {
      const { file } = yield* place
      files.replace(file, "old")
      const killed = yield* hands({ env: { HANDS_DIE_AT: "at-rename" } })
      yield* Effect.forkChild(Effect.exit(killed.call("files", "replace", file, "new")))
      assert.strictEqual(yield* killed.ended, "SIGKILL")
      assert.deepInclude(files.read(file), { _tag: "Text", text: "old" })
      files.replace(file, "newer")
      assert.deepInclude(files.read(file), { _tag: "Text", text: "newer" })
    })
  )

  const failures: ReadonlyArray<[string, string, boolean, (directory: string) => ReadonlyArray<string>]> = [
    [
      "a full disk",
      "ENOSPC",
      mayMount,
      (directory) => inOwnMounts(`mount -t tmpfs -o size=4k none ${directory} && printf old >${directory}/service.json`)
    ],
    [
      "a limit on file sizes",
      "EFBIG",
      true,
      (directory) => ["sh", "-c", `printf old >${directory}/service.json; ulimit -f 0; exec "$@"`, "sh"]
    ],
    [
      "a directory at its path",
      "EISDIR",
      true,
      (directory) => ["sh", "-c", `mkdir ${directory}/service.json; exec "$@"`, "sh"]
    ],
    ["a directory that is gone", "ENOENT", true, (directory) => ["sh", "-c", `rmdir ${directory}; exec "$@"`, "sh"]]
  ]
  for (const [name, code, possible, before] of failures) {
    it.live.skipIf(!possible)(
      `${name} is the system's error; the old record stays and no temporary file is left${possible ? "" : " (needs mount)"}`,
      () =>
        Effect.gen(function* () {
          const { directory, file } = yield* place
          const one = yield* hands({ before: before(directory) })
          const old = yield* one.call("files", "read", file)
          const { error } = yield* one.call("files", "replace", file, "n".repeat(60_000))
          assert.strictEqual(error.code, code)
          assert.deepStrictEqual(yield* one.call("files", "read", file), old)
          const inside = path.join("/proc", String(one.pid), "root", directory)
          assert.deepStrictEqual(
            fs.existsSync(inside) ? fs.readdirSync(inside) : [],
            code === "ENOENT" ? [] : ["service.json"]
          )
        })
    )
  }
})

describe("creating a record", () => {
  it.live.each<[string, (file: string) => void]>([
    ["a file", (file) => fs.writeFileSync(file, "old", { mode: 0o640 })],
    ["an empty file", (file) => fs.writeFileSync(file, "")],
    ["a dangling link", (file) => fs.symlinkSync("/nowhere/at/all", file)],
    ["a directory", (file) => fs.mkdirSync(file)],
    ["a FIFO", (file) => childProcess.execFileSync("mkfifo", [file])]
  ])("never replaces %s", ([, prepare]) =>
    Effect.gen(function* () {
      const { directory, file } = yield* place
      prepare(file)
      const before = fs.lstatSync(file)
      assert.isFalse(files.create(file, "new"))
      assert.deepStrictEqual(fs.lstatSync(file), before)
      assert.deepStrictEqual(fs.readdirSync(directory), ["service.json"])
    })
  )

  it.live("where nothing is: whole, private to us, and once", () =>
    Effect.gen(function* () {
      const { directory, file } = yield* place
      const umask = process.umask(0)
      assert.isTrue(files.create(file, "one"))
      process.umask(umask)
      assert.isFalse(files.create(file, "two"))
      assert.deepInclude(files.read(file), { text: "one", mode: 0o600 })
      assert.deepStrictEqual(fs.readdirSync(directory), ["service.json"])
    })
  )

  it.live("of several at the same time exactly one does, and its text is there", () =>
    Effect.gen(function* () {
      const { file } = yield* place
      const members = yield* Effect.forEach([0, 1, 2, 3, 4], () => hands(), { concurrency: 5 })
      const created = yield* Effect.forEach(members, (one) => one.call("files", "create", file, String(one.pid)), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual([...created].sort(), [false, false, false, false, true])
      assert.deepInclude(files.read(file), { text: String(members[created.indexOf(true)]!.pid) })
    })
  )
})

it.live("removing a record that is not there is fine", () =>
  Effect.gen(function* () {
    const { file } = yield* place
    files.remove(file)
    fs.writeFileSync(file, "")
    files.remove(file)
    assert.isFalse(fs.existsSync(file))
  })
)

describe("writing into the file that is there", () => {
  it.live("keeps the file and its size, and emptying it too", () =>
    Effect.gen(function* () {
      const { file } = yield* place
      fs.writeFileSync(file, "old")
      const { ino } = fs.statSync(file)
      for (const text of ["a longer record", "short"]) {
        assert.isTrue(files.rewrite(file, text))
        assert.strictEqual(fs.readFileSync(file, "utf8"), text.padEnd(4096))
      }
      assert.isTrue(files.rewrite(file, ""))
      assert.deepInclude(fs.statSync(file), { ino, size: 0 })
    })
  )

  it.live("creates nothing, follows no link, waits for no reader, and leaves alone what is larger or no file", () =>
    Effect.gen(function* () {
      const { directory, file } = yield* place
      assert.isFalse(files.rewrite(file, "text"))
      fs.writeFileSync(path.join(directory, "mine"), "mine")
      fs.symlinkSync(path.join(directory, "mine"), file)
      assert.isFalse(files.rewrite(file, "text"))
      assert.isFalse(files.rewrite(file, ""))
      assert.strictEqual(fs.readFileSync(file, "utf8"), "mine")
      fs.rmSync(file)
      childProcess.execFileSync("mkfifo", [file])
      assert.isFalse(files.rewrite(file, "text"))
      fs.rmSync(file)
      fs.writeFileSync(file, "old")
      assert.isFalse(files.rewrite(file, "x".repeat(4097)))
      assert.strictEqual(fs.readFileSync(file, "utf8"), "old")
    })
  )
})
