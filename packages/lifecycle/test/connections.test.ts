import { assert, describe, it, vi } from "@effect/vitest"
import * as http from "node:http"
import * as net from "node:net"
import type { AddressInfo } from "node:net"
import { Worker } from "node:worker_threads"
import { track } from "../src/internal/connections.ts"

/** Connects and posts from another thread, while this one takes nobody in. */
const posting = `
  const net = require("node:net")
  const { parentPort, workerData: { count, port, sent } } = require("node:worker_threads")
  let done = 0
  const answers = []
  const answered = (text) => answers.push(text) === count && parentPort.postMessage(answers)
  for (let n = 0; n < count; n++) {
    let text = ""
    const socket = net.connect(port, "127.0.0.1", () => {
      socket.write("POST / HTTP/1.1\\r\\nhost: here\\r\\ncontent-length: 0\\r\\n\\r\\n", () => {
        if (Atomics.add(sent, 0, 1) === count - 1) Atomics.notify(sent, 0)
      })
    })
    socket.on("data", (data) => (text += data))
    socket.on("error", (error) => (text = error.code))
    socket.on("close", () => answered(text.split("\\r\\n")[0]))
  }
`

/**
 * Asks by Node's own client from another thread. It has connected when this thread hears of it, and sends its request only
 * when told: as a busy machine may delay it.
 */
const late = `
  const http = require("node:http")
  const { parentPort, workerData: { port, told } } = require("node:worker_threads")
  http
    .request({ host: "127.0.0.1", port, method: "POST" }, (response) => {
      response.resume().on("end", () => {
        parentPort.postMessage(response.statusCode + " " + response.headers["x-holdfast-refusal"])
      })
    })
    .on("error", ({ code }) => parentPort.postMessage(code))
    .end()
  // the connection is made in the next tick
  process.nextTick(() => process.nextTick(() => {
    Atomics.wait(told, 0, 0)
  }))
`

const listening = async () => {
  let asked = 0
  const server = http.createServer((_, response) => {
    asked++
    response.end("ok")
  })
  const connections = track(server)
  const connected = new Promise((resolve) => server.on("connection", resolve))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { asked: () => asked, connected, connections, port: (server.address() as AddressInfo).port }
}

/** On a connection of its own. */
const get = (port: number): Promise<string> =>
  new Promise((resolve) => {
    http
      .get({ agent: false, host: "127.0.0.1", port }, (response) => {
        response.setEncoding("utf8").on("data", resolve)
      })
      .on("error", (error) => resolve(error.message))
  })

const request = "POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 0\r\n\r\n"

describe("closing", () => {
  it("one that has connected and asks too late finds the refusal there, and knows that nothing landed", async () => {
    const { asked, connected, connections, port } = await listening()
    const told = new Int32Array(new SharedArrayBuffer(4))
    const worker = new Worker(late, { eval: true, workerData: { port, told } })
    const answer = new Promise((resolve) => worker.on("message", resolve))
    await connected
    await connections.close(50)
    Atomics.store(told, 0, 1)
    Atomics.notify(told, 0)
    assert.strictEqual(await answer, "503 service_stopping")
    assert.strictEqual(asked(), 0)
    await worker.terminate()
  })

  it("one that asks a second time on its connection, too late, does so as well, and nobody waits for it", async () => {
    const { asked, connections, port } = await listening()
    const socket = net.connect(port, "127.0.0.1")
    const received: Array<string> = []
    socket.setEncoding("utf8").on("data", (text: string) => received.push(text))
    socket.on("error", () => undefined) // after what it received
    socket.write(request)
    await vi.waitFor(() => assert.match(received.join(""), /200 OK[^]*ok/))
    received.length = 0
    socket.pause()
    await connections.close(60_000)
    socket.write(request)
    await new Promise((resolve) => socket.on("close", resolve).resume())
    assert.match(received.join(""), /^HTTP\/1.1 503 [^]*x-holdfast-refusal: service_stopping\r\n/)
    assert.strictEqual(asked(), 1)
  })

  it("ten of which each comes a little after the one before was answered are all answered", async () => {
    const { asked, connections, port } = await listening()
    const answers: Array<string> = []
    const coming = (async () => {
      for (let n = 0; n < 10; n++) {
        answers.push(await get(port))
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    await connections.close(5000)
    await coming
    assert.deepStrictEqual(
      answers,
      Array.from({ length: 10 }, () => "ok")
    )
    assert.strictEqual(asked(), 10)
  })

  it("fifty that have connected and were not taken in yet are all answered, and nobody after them", async () => {
    const server = http.createServer((_, response) => response.writeHead(503).end())
    const connections = track(server)
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const count = 50
    const sent = new Int32Array(new SharedArrayBuffer(4))
    const worker = new Worker(posting, { eval: true, workerData: { count, port, sent } })
    const answers = new Promise<ReadonlyArray<string>>((resolve) => worker.on("message", resolve))
    const deadline = performance.now() + 10_000
    // the loop of this thread stands still until all of them wait in the system's queue
    for (let seen = 0; seen < count && performance.now() < deadline; seen = Atomics.load(sent, 0)) {
      Atomics.wait(sent, 0, seen, 100)
    }
    await connections.close(500)
    assert.deepStrictEqual(
      await answers,
      Array.from({ length: count }, () => "HTTP/1.1 503 Service Unavailable")
    )
    assert.isFalse(server.listening)
    await worker.terminate()
  })
})
