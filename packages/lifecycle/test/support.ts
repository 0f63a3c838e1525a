/** What the tests of this package share. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import type * as Http from "node:http"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import * as Credential from "../src/Credential.ts"
import * as LifecycleShell from "../src/LifecycleShell.ts"

export const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-lifecycle-")))),
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

/** A secret of 32 known bytes, so that a test can look for them. */
export const key = Buffer.from("0123456789abcdef0123456789ABCDEF")

export const secretIn = (directory: string): Credential.Secret => {
  const file = path.join(directory, "secret")
  fs.writeFileSync(file, key.toString("base64url"), { mode: 0o600 })
  const reading = Credential.load(file)
  if (reading._tag !== "Secret") throw new Error(reading._tag)
  return reading.secret
}

export interface Opened {
  readonly shell: LifecycleShell.LifecycleShell
  readonly secret: Credential.Secret
  readonly token: string
  readonly port: number
  readonly endpoint: string
}

export const instanceID = "the-instance"

/** A shell on a port of the system's choice, closed with the scope. */
export const openShell = (
  options: Partial<LifecycleShell.ShellOptions> = {}
): Effect.Effect<Opened, never, Scope.Scope> =>
  Effect.gen(function* () {
    const secret = options.secret ?? secretIn(yield* temporary)
    const token = options.token ?? Credential.random()
    const shell = yield* Effect.acquireRelease(
      Effect.promise(() =>
        LifecycleShell.open({ version: "1.2.3", instanceID, port: 0, drainMs: 1000, ...options, secret, token })
      ),
      (shell) => Effect.promise(() => shell.close())
    )
    const endpoint = shell.url.slice("http://".length)
    return { shell, secret, token, endpoint, port: Number(endpoint.split(":")[1]) }
  })

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Sends bytes as they are and reads until the peer closes. */
export const sendRaw = (port: number, bytes: string | Buffer, withinMs = 5000): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = net.connect(port, "127.0.0.1")
    const timer = setTimeout(
      () => (socket.destroy(), reject(new Error(`The connection is open after ${withinMs} ms.`))),
      withinMs
    )
    let received = ""
    const end = () => (clearTimeout(timer), socket.destroy(), resolve(received))
    socket.on("data", (chunk) => (received += chunk.toString("latin1")))
    socket.on("error", end)
    socket.on("close", end)
    socket.write(bytes)
  })

export const parse = (text: string): Answer => {
  const [head = "", ...rest] = text.split("\r\n\r\n")
  const [first = "", ...lines] = head.split("\r\n")
  const headers = lines.map((line) => [
    line.slice(0, line.indexOf(":")).toLowerCase(),
    line.slice(line.indexOf(":") + 2)
  ])
  return { status: Number(first.split(" ")[1]), headers: Object.fromEntries(headers), body: rest.join("\r\n\r\n") }
}

export interface Ask {
  readonly method?: string
  readonly target?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** One request, written by hand: the target is sent as it is, and nothing is added but Host and Content-Length. */
export const ask = ({ endpoint, port }: Pick<Opened, "endpoint" | "port">, request: Ask = {}): Effect.Effect<Answer> =>
  Effect.promise(async () => {
    const body = request.body ?? ""
    const headers = {
      host: endpoint,
      connection: "close",
      ...(request.body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
      ...request.headers
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    return parse(
      await sendRaw(
        port,
        [`${request.method ?? "GET"} ${request.target ?? "/"} HTTP/1.1`, ...lines, "", body].join("\r\n")
      )
    )
  })

/** The header that carries the token. */
export const proved = (opened: Opened, more: Readonly<Record<string, string>> = {}) => ({
  [Credential.tokenHeader]: opened.token,
  ...more
})

/** A ready shell whose application notes what it saw. */
export const ready = Effect.gen(function* () {
  const opened = yield* openShell()
  const seen: Array<Http.IncomingMessage> = []
  opened.shell.mount((request, response) => {
    seen.push(request)
    response.end("the application")
  })
  opened.shell.dispatch({ type: "Booted" })
  return { ...opened, seen }
})
