// the lean floor: the same plain server without an ESM import of node:http, which loads what it does not need
const { createServer } = process.getBuiltinModule("node:http")
const server = createServer((_, response) => response.end("hello"))
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`))
