/** Another program on a port. */
import * as ExitCode from "@holdfast/lock/ExitCode"
import { ServiceError } from "@holdfast/lock/ServiceError"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { AddressInfo, Server, Socket } from "node:net"

const net = process.getBuiltinModule("node:net")

/**
 * How a stranger treats whoever connects: `"answers"` 200 with `{}` to all that it is sent; `"hangs"`, accepting and
 * never writing; `"drips"` one byte of an answer every 50 ms, for ever; `"floods"` with an answer that has no end.
 *
 * @category models
 * @since 0.1.0
 */
export type Manners = "answers" | "hangs" | "drips" | "floods"

/**
 * A program that is not the service. `received()` is all that it was sent, over all connections, as latin1: a test can
 * show that no secret is in it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Stranger {
  readonly port: number
  readonly url: string
  readonly connections: () => number
  readonly received: () => string
}

/**
 * The port that a stranger should take is another's.
 *
 * @category errors
 * @since 0.1.0
 */
export class PortTaken extends ServiceError<PortTaken>()("PortTaken", ExitCode.unavailable, {
  port: Schema.Number,
  reason: Schema.String
}) {}

const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"

const drip = (socket: Socket): void => {
  const text = `${head}content-length: 100000\r\n\r\n{`
  let at = 0
  const timer = setInterval(() => socket.write(text[at++] ?? " "), 50)
  socket.on("close", () => clearInterval(timer))
}

const flood = (socket: Socket): void => {
  const piece = `4000\r\n${"x".repeat(0x4000)}\r\n`
  const pour = () => {
    while (!socket.destroyed && socket.write(piece)) continue
  }
  socket.on("drain", pour)
  socket.once("data", () => {
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n`)
    pour()
  })
}

const treat: Readonly<Record<Manners, (socket: Socket) => void>> = {
  answers: (socket) => void socket.on("data", () => socket.write(`${head}content-length: 2\r\n\r\n{}`)),
  hangs: () => undefined,
  drips: drip,
  floods: flood
}

const listen = (server: Server, port: number, host: string): Effect.Effect<void, PortTaken> =>
  Effect.callback((resume) => {
    const heard = () => {
      server.off("error", failed)
      resume(Effect.void)
    }
    const failed = (error: NodeJS.ErrnoException) => {
      server.off("listening", heard)
      const reason = error.code ?? error.message
      const message = `No stranger can listen on port ${port} of ${host}: ${reason}.`
      resume(new PortTaken({ port, reason, message, action: "End who has it, or take another port." }))
    }
    server.once("error", failed).once("listening", heard).listen(port, host)
  })

/** The kernel takes a moment to free the port of a process that was killed. */
const untilFree = {
  schedule: Schedule.spaced("20 millis"),
  times: 100,
  while: ({ reason }: PortTaken) => reason === "EADDRINUSE"
}

export const occupied = (how: Manners, port: number, host: string): Effect.Effect<Stranger, PortTaken, Scope.Scope> =>
  Effect.gen(function* () {
    const sockets = new Set<Socket>()
    let received = ""
    let connections = 0
    const server = net.createServer((socket) => {
      connections++
      sockets.add(socket)
      socket.on("error", () => undefined)
      socket.on("close", () => sockets.delete(socket))
      socket.on("data", (data) => (received += data.toString("latin1")))
      treat[how](socket)
    })
    yield* Effect.acquireRelease(listen(server, port, host).pipe(Effect.retry(untilFree)), () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of sockets) socket.destroy()
      })
    )
    const taken = (server.address() as AddressInfo).port
    return {
      port: taken,
      url: `http://${net.isIPv6(host) ? `[${host}]` : host}:${taken}`,
      connections: () => connections,
      received: () => received
    }
  })
