import { assert, describe, it } from "@effect/vitest"
import * as http from "node:http"
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

describe("closing", () => {
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
