// the floor: a plain client that spawns the plain server, or knows its port, and gets one answer
import { spawn } from "node:child_process"
import { get } from "node:http"
const ask = (port) =>
  get({ host: "127.0.0.1", port, agent: false }, (response) => response.resume().on("end", () => process.exit(0)))
if (process.argv[2]) ask(process.argv[2])
else {
  const child = spawn(process.execPath, [new URL("./server.mjs", import.meta.url).pathname], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore"]
  })
  child.stdout.once("data", (port) => {
    process.stdout.write(`${child.pid}\n`)
    ask(String(port).trim())
  })
}
