/** What the tests of this package share. */
import type { Registration } from "@holdfast/lifecycle/Registration"
import type { ServiceHealth } from "@holdfast/lifecycle/ServiceHealth"
import type { ServiceStatus } from "@holdfast/lifecycle/ServiceStatus"
import * as Credential from "@holdfast/lifecycle/Credential"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import type { OwnerNote } from "@holdfast/lock/OwnerNote"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import type { Session } from "@holdfast/lifecycle/Credential"
import type { Found } from "../src/internal/decide.ts"

export const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-client-")))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

/** Looks every 5 ms; dies with the sentence at the deadline. */
export const until = (sentence: string, condition: () => boolean, withinMs = 5000): Effect.Effect<void> =>
  Effect.promise(async () => {
    const deadline = performance.now() + withinMs
    while (!condition()) {
      if (performance.now() > deadline) throw new Error(`Waited ${withinMs} ms until ${sentence}.`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })

/** How long `body` took, of three times the first within the bound: a busy machine is not late each time, a wait of ours is. */
export const quickest = <E, R>(boundMs: number, body: Effect.Effect<unknown, E, R>): Effect.Effect<number, E, R> =>
  Effect.suspend(() => {
    const before = performance.now()
    return Effect.map(body, () => performance.now() - before)
  }).pipe(Effect.repeat({ times: 2, until: (took) => took < boundMs }))

export const spec: ServiceSpec = { app: "hello", title: "Hello", version: "1.0.0", entry: new URL("file:///daemon.ts") }

export const registration: Registration = {
  schema: 1,
  instanceID: "one",
  version: "1.0.0",
  url: "http://127.0.0.1:4000",
  pid: 7
}

export const note: OwnerNote = {
  schema: 1,
  pid: 7,
  startIdentity: "boot/1/1",
  instanceID: "one",
  host: "here",
  lockInode: "1:1",
  startedAt: 0
}

/** A port of this machine, as an address. */
export const addressOf = (port: number) => ({ host: "127.0.0.1", port, endpoint: `127.0.0.1:${port}` })
export const session: Session = { registration, address: addressOf(4000), token: "token" }

export const healthOf = (status: ServiceStatus, version = "1.0.0"): ServiceHealth => ({
  healthy: true,
  version,
  pid: 7,
  instanceID: "one",
  status
})

export const missing: Found = { _tag: "Missing", holder: undefined }
export const held: Found = { _tag: "Missing", holder: note }
export const unreachable = (owner: "alive" | "dead" | "unknown", silent = false, instanceID = "one"): Found => ({
  _tag: "Unreachable",
  registration: { ...registration, instanceID },
  owner,
  note,
  why: "why",
  silent
})
/** Somebody answers there, in other words. */
export const otherwise = (
  owner: "alive" | "dead" | "unknown",
  version = "1.0.0",
  proved: Session | undefined = undefined
): Found => ({
  _tag: "Unreachable",
  registration: { ...registration, version },
  owner,
  note,
  why: "it answered 404",
  silent: false,
  foreign: { session: proved }
})
export const reachable = (status: ServiceStatus, version?: string): Found => ({
  _tag: "Reachable",
  session,
  health: healthOf(status, version),
  note
})

/** A secret of 32 known bytes, so that a test can look for them. */
export const key = Buffer.from("0123456789abcdef0123456789ABCDEF")
export const secretIn = (directory: string): Credential.Secret => {
  const file = path.join(directory, "secret")
  fs.writeFileSync(file, key.toString("base64url"), { mode: 0o600 })
  const reading = Credential.load(file)
  if (reading._tag !== "Secret") throw new Error(reading._tag)
  return reading.secret
}

/** Whether bytes carry the secret, in a shape in which it is likely to be written. */
export const carriesSecret = (bytes: string): boolean =>
  [key.toString("latin1"), key.toString("base64url"), key.toString("base64"), key.toString("hex")].some((shape) =>
    bytes.includes(shape.slice(0, 16))
  )

export interface Stranger {
  readonly port: number
  readonly url: string
  /** Every byte that anybody sent to it. */
  readonly received: () => string
  readonly connections: () => number
}

/** Whoever listens on a port, or a socket, and is not the service. */
export const stranger = (
  behave: (socket: net.Socket, received: () => string) => void,
  at: number | { readonly host: string; readonly port: number } | { readonly path: string } = 0
): Effect.Effect<Stranger, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sockets = new Set<net.Socket>()
    let received = ""
    let connections = 0
    const server = net.createServer((socket) => {
      connections++
      sockets.add(socket)
      let own = ""
      socket.on("error", () => undefined)
      socket.on("close", () => sockets.delete(socket))
      socket.on("data", (chunk) => {
        received += chunk.toString("latin1")
        own += chunk.toString("latin1")
      })
      behave(socket, () => own)
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>(
        (resume) =>
          void server.listen(typeof at === "number" ? { port: at, host: "127.0.0.1" } : at, () => resume(Effect.void))
      ),
      () =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          for (const socket of sockets) socket.destroy()
        })
    )
    const bound = server.address() as net.AddressInfo | string
    const port = typeof bound === "string" ? 0 : bound.port
    const url = typeof bound === "string" ? `unix:${bound}` : `http://127.0.0.1:${port}`
    return { port, url, received: () => received, connections: () => connections }
  })

export const respond = (body: string, head = "HTTP/1.1 200 OK"): string =>
  `${head}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
