import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as childProcess from "node:child_process"
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as util from "node:util"
import * as Credential from "../src/Credential.ts"
import { instanceID, key, secretIn, temporary } from "./support.ts"

const root = process.geteuid?.() === 0

const place = Effect.map(temporary, (directory) => ({ directory, file: path.join(directory, "service.secret") }))

const challenge: Credential.Challenge = {
  instanceID,
  endpoint: "127.0.0.1:4000",
  clientNonce: Credential.random(),
  serverNonce: Credential.random()
}

/** Every way in which 32 bytes are likely to be printed. */
const shapes = [
  key.toString("latin1"),
  key.toString("base64"),
  key.toString("base64url"),
  key.toString("hex"),
  [...key].join(","),
  [...key].join(", ")
]
const reveals = (text: string): boolean => shapes.some((shape) => text.includes(shape.slice(0, 12)))

describe("a secret's bytes are never printed", () => {
  it.live.each<[string, (secret: Credential.Secret) => unknown]>([
    ["JSON.stringify", (secret) => JSON.stringify({ secret })],
    [
      "util.inspect with everything on",
      (secret) => util.inspect({ secret }, { depth: 20, showHidden: true, getters: true })
    ],
    ["util.format", (secret) => util.format("%s %o %O %j", secret, secret, secret, secret)],
    ["String", (secret) => `${String(secret)}${secret}`],
    [
      "Object.entries",
      (secret) =>
        util.inspect([Object.entries(secret), Object.getOwnPropertySymbols(secret), Object.getPrototypeOf(secret)], {
          depth: 20
        })
    ],
    ["structuredClone", (secret) => util.inspect(structuredClone(secret), { depth: 20 })],
    ["an error that carries it", (secret) => util.inspect(Object.assign(new Error("x", { cause: secret }), { secret }))]
  ])("by %s", ([, print]) =>
    Effect.gen(function* () {
      const text = String(print(secretIn(yield* temporary)))
      assert.isFalse(reveals(text), text)
    })
  )

  it("the search for them finds them", () => {
    assert.isTrue(reveals(util.inspect({ key: key.toString("base64url") })))
    assert.isTrue(reveals(JSON.stringify(key)))
  })
})

describe("loading the secret", () => {
  const text = `${key.toString("base64url")}\n`
  it.live.each<[string, string]>([
    ["with the line break that it was written with", text],
    ["without it", key.toString("base64url")],
    ["in ordinary base64", key.toString("base64")]
  ])("%s, it is the one that was written", ([, written]) =>
    Effect.gen(function* () {
      const { directory, file } = yield* place
      fs.writeFileSync(file, written, { mode: 0o600 })
      const reading = Credential.load(file)
      assert.strictEqual(reading._tag, "Secret")
      if (reading._tag === "Secret") {
        assert.strictEqual(
          Credential.prove(reading.secret, "client", challenge),
          Credential.prove(secretIn(directory), "client", challenge)
        )
      }
    })
  )

  it.live("nothing there is absent", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(Credential.load((yield* place).file), { _tag: "Absent" })
    })
  )

  it.live.each([
    "",
    "\n",
    "short",
    "A".repeat(42),
    "A".repeat(44),
    "not base64 at all!",
    JSON.stringify({ secret: key.toString("base64url") })
  ])("%j is malformed, never a secret", (written) =>
    Effect.gen(function* () {
      const { file } = yield* place
      fs.writeFileSync(file, written, { mode: 0o600 })
      assert.deepStrictEqual(Credential.load(file), { _tag: "Malformed" })
    })
  )

  const rejected = (file: string, code: string) => {
    const reading = Credential.load(file)
    assert.strictEqual(reading._tag, "Rejected")
    if (reading._tag !== "Rejected") return
    assert.strictEqual(reading.problem.code, code)
    assert.match(reading.problem.message, /^[A-Z][^\n]*\.$/)
    assert.match(reading.problem.action, /^[A-Z][^\n]*$/)
    assert.isFalse(reveals(JSON.stringify(reading)), "the reason gives nothing away")
  }

  it.live.each([0o640, 0o604, 0o644, 0o660, 0o610, 0o777])("mode %o lets others in, and is rejected", (mode) =>
    Effect.gen(function* () {
      const { file } = yield* place
      fs.writeFileSync(file, text)
      fs.chmodSync(file, mode)
      rejected(file, "EMODE")
    })
  )

  it.live.each<[string, string, (file: string) => void]>([
    ["a directory", "EISDIR", (file) => fs.mkdirSync(file)],
    ["a FIFO", "EINVAL", (file) => childProcess.execFileSync("mkfifo", [file])],
    ["a large file", "EFBIG", (file) => fs.writeFileSync(file, Buffer.alloc(70_000), { mode: 0o600 })],
    ["a circle of links", "ELOOP", (file) => fs.symlinkSync(file, file)]
  ])("%s is rejected, never absent", ([, code, make]) =>
    Effect.gen(function* () {
      const { file } = yield* place
      make(file)
      rejected(file, code)
    })
  )

  it.live.skipIf(!root)("another user's is rejected, also by root (needs root)", () =>
    Effect.gen(function* () {
      const { file } = yield* place
      fs.writeFileSync(file, text, { mode: 0o600 })
      fs.chownSync(file, 12345, 12345)
      rejected(file, "EOWNER")
    })
  )
})

describe("the lock holder establishes the secret", () => {
  it.live("where there is none: 32 bytes, private to us, and the same from then on", () =>
    Effect.gen(function* () {
      const { directory, file } = yield* place
      const umask = process.umask(0)
      const [first, second] = [Credential.establish(file), Credential.establish(file)]
      process.umask(umask)
      assert.strictEqual(first._tag, "Secret")
      assert.strictEqual(second._tag, "Secret")
      if (first._tag !== "Secret" || second._tag !== "Secret") return
      assert.strictEqual(
        Credential.prove(first.secret, "server", challenge),
        Credential.prove(second.secret, "server", challenge)
      )
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      assert.strictEqual(Buffer.from(fs.readFileSync(file, "utf8"), "base64url").length, 32)
      assert.deepStrictEqual(fs.readdirSync(directory), ["service.secret"])
    })
  )

  it.live("two services have two", () =>
    Effect.gen(function* () {
      const { directory } = yield* place
      for (const name of ["a", "b"]) Credential.establish(path.join(directory, name))
      assert.notStrictEqual(
        fs.readFileSync(path.join(directory, "a"), "utf8"),
        fs.readFileSync(path.join(directory, "b"), "utf8")
      )
    })
  )

  it.live("a malformed one is replaced", () =>
    Effect.gen(function* () {
      const { file } = yield* place
      fs.writeFileSync(file, "half", { mode: 0o600 })
      assert.strictEqual(Credential.establish(file)._tag, "Secret")
      assert.strictEqual(Credential.load(file)._tag, "Secret")
    })
  )

  it.live("one that others may read is rejected and left as it is", () =>
    Effect.gen(function* () {
      const { file } = yield* place
      fs.writeFileSync(file, "half", { mode: 0o644 })
      assert.strictEqual(Credential.establish(file)._tag, "Rejected")
      assert.strictEqual(fs.readFileSync(file, "utf8"), "half")
    })
  )

  it.live("a place that cannot be written to is rejected with the system's reason", () =>
    Effect.gen(function* () {
      const { directory } = yield* place
      const reading = Credential.establish(path.join(directory, "absent", "service.secret"))
      assert.strictEqual(reading._tag === "Rejected" ? reading.problem.code : "", "ENOENT")
    })
  )

  it.live("a dangling link in its place is rejected at once, with a reason", () =>
    Effect.gen(function* () {
      const { directory, file } = yield* place
      fs.symlinkSync("nowhere", file)
      const before = performance.now()
      const reading = Credential.establish(file)
      assert.isBelow(performance.now() - before, 500)
      assert.strictEqual(reading._tag, "Rejected")
      if (reading._tag === "Rejected") assert.notInclude(reading.problem.message, "UNKNOWN")
      assert.deepStrictEqual(fs.readdirSync(directory), ["service.secret"])
    })
  )

  it.live("and puts the same one back when somebody removed or damaged it", () =>
    Effect.gen(function* () {
      const { file } = yield* place
      const established = Credential.establish(file)
      if (established._tag !== "Secret") return assert.fail(established._tag)
      const written = fs.readFileSync(file, "utf8")
      assert.isFalse(Credential.reassert(file, established.secret))
      for (const damage of [
        () => fs.rmSync(file),
        () => fs.writeFileSync(file, "x"),
        () => fs.writeFileSync(file, crypto.randomBytes(32).toString("base64url"))
      ]) {
        damage()
        assert.isTrue(Credential.reassert(file, established.secret))
        assert.strictEqual(fs.readFileSync(file, "utf8"), written)
        assert.strictEqual(Credential.load(file)._tag, "Secret")
        assert.isFalse(Credential.reassert(file, established.secret))
      }
    })
  )
})

describe("a proof", () => {
  it.live("is HMAC-SHA256 over role, instance, endpoint and both nonces, as DESIGN §5 says", () =>
    Effect.gen(function* () {
      const secret = secretIn(yield* temporary)
      const text = [
        "client",
        challenge.instanceID,
        challenge.endpoint,
        challenge.clientNonce,
        challenge.serverNonce
      ].join("|")
      assert.strictEqual(
        Credential.prove(secret, "client", challenge),
        crypto.createHmac("sha256", key).update(text).digest("base64url")
      )
    })
  )

  it.live("is bound to its secret, its role and each part of its challenge", () =>
    Effect.gen(function* () {
      const { directory, file } = yield* place
      const secret = secretIn(directory)
      const other = Credential.establish(file)
      if (other._tag !== "Secret") return assert.fail(other._tag)
      const proofs = [
        Credential.prove(secret, "client", challenge),
        Credential.prove(secret, "server", challenge),
        Credential.prove(other.secret, "client", challenge),
        ...(["instanceID", "endpoint", "clientNonce", "serverNonce"] as const).map((part) =>
          Credential.prove(secret, "client", { ...challenge, [part]: `${challenge[part]}x` })
        ),
        Credential.prove(secret, "client", {
          ...challenge,
          clientNonce: challenge.serverNonce,
          serverNonce: challenge.clientNonce
        })
      ]
      assert.strictEqual(new Set(proofs).size, proofs.length)
    })
  )

  it.prop("is compared as text is", [Schema.String, Schema.String], ([left, right]) => {
    // half a surrogate pair has no bytes of its own
    assert.strictEqual(Credential.same(left, right), Buffer.from(left).equals(Buffer.from(right)))
    assert.isTrue(Credential.same(left, left))
  })
})

describe("nonces, and the address of a registration", () => {
  it.prop("every nonce has a nonce's shape, and no two are equal", [Arbitrary.Constant(0)], () => {
    const [one, other] = [Credential.random(), Credential.random()]
    assert.isTrue(Credential.isNonce(one))
    assert.notStrictEqual(one, other)
  })

  it.each([
    "",
    "x",
    `${"A".repeat(43)}\n`,
    "A".repeat(42),
    "A".repeat(44),
    `${"A".repeat(42)}|`,
    `${"A".repeat(42)}=`,
    `${"A".repeat(42)}/`,
    1,
    null,
    undefined,
    [],
    { length: 43 }
  ])("%j is no nonce", (value) => {
    assert.isFalse(Credential.isNonce(value))
  })

  it.each(["http://127.0.0.1:1", "http://127.0.0.1:65535/"])("%s may be dialled", (url) => {
    const port = Number(/:(\d+)/.exec(url.slice(5))![1])
    assert.deepStrictEqual(Credential.endpointOf(url), { host: "127.0.0.1", port, endpoint: `127.0.0.1:${port}` })
  })

  it.each([
    "",
    "127.0.0.1:4000",
    "https://127.0.0.1:4000",
    "http://127.0.0.1",
    "http://127.0.0.1:0",
    "http://127.0.0.1:65536",
    "http://127.0.0.1:99999",
    "http://127.0.0.1:4000/path",
    "http://127.0.0.1:4000?x",
    "http://127.0.0.1:4000#x",
    "http://user@127.0.0.1:4000",
    "http://127.0.0.1:4000@evil.example",
    "http://localhost:4000",
    "http://127.0.0.2:4000",
    "http://0.0.0.0:4000",
    "http://[::1]:4000",
    "http://evil.example:4000",
    "http://127.0.0.1.evil.example:4000",
    "http://127.0.0.1:4000\n",
    " http://127.0.0.1:4000",
    "http://127.0.0.1:+400",
    "file:///etc/passwd",
    "unix:/s/service.sock"
  ])("%j is never dialled", (url) => {
    assert.isUndefined(Credential.endpointOf(url))
  })

  it("a socket in the state directory may be dialled, and its url is the endpoint", () => {
    const url = "unix:/s/service.0123abcd.sock"
    assert.deepStrictEqual(Credential.endpointOf(url, "/s"), { socketPath: url.slice(5), endpoint: url })
    assert.deepStrictEqual(Credential.endpointOf("unix:/s p/a|b/ä.sock", "/s p/a|b"), {
      socketPath: "/s p/a|b/ä.sock",
      endpoint: "unix:/s p/a|b/ä.sock"
    })
  })

  it.each([
    "unix:",
    "unix:/s",
    "unix:/s/",
    "unix:/s/.sock/",
    "unix:/s/..sock/../x.sock",
    "unix:service.sock",
    "unix:./service.sock",
    "unix:/other/service.sock",
    "unix:/s/../other/service.sock",
    "unix:/s/below/service.sock",
    "unix:/s//service.sock",
    "unix:/s/./service.sock",
    "unix:/S/service.sock",
    "unix:/sx/service.sock",
    "unix://s/service.sock",
    "unix:///s/service.sock",
    "UNIX:/s/service.sock",
    " unix:/s/service.sock",
    "unix:/s/service.json",
    "unix:/s/a\0/../service.sock",
    "unix:/s/a\0.sock",
    "http+unix:/s/service.sock",
    "http://localhost:4000",
    "http://[::1]:4000",
    "http://[::ffff:127.0.0.1]:4000"
  ])("%j is no socket in the state directory, and is never dialled", (url) => {
    assert.isUndefined(Credential.endpointOf(url, "/s"))
  })
})
