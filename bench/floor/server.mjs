// the floor: a plain server that says where it listens
import { createServer } from "node:http"
const server = createServer((_, response) => response.end("hello"))
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`))
