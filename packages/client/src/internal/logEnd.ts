/** The end of a log file. */
const fs = process.getBuiltinModule("node:fs")

const window = 1024 * 1024

/** Its lines from byte `from` on, of the last MiB at most; `undefined` when there is no log. Throws the system's error. */
export const logEnd = (path: string, from = 0): ReadonlyArray<string> | undefined => {
  if (!fs.existsSync(path)) return undefined
  // a FIFO in its place must not block
  const descriptor = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0))
  try {
    const stat = fs.fstatSync(descriptor)
    if (!stat.isFile()) throw Object.assign(new Error("not a file"), { code: "EISDIR" })
    const { size } = stat
    const start = Math.max(from, size - window, 0)
    const buffer = Buffer.alloc(Math.max(size - start, 0))
    fs.readSync(descriptor, buffer, 0, buffer.length, start)
    return buffer.toString("utf8").trimEnd().split("\n")
  } finally {
    fs.closeSync(descriptor)
  }
}
