/** macOS and FreeBSD lock at open, without native code. Not run by this repository's Linux tests. */
import { descriptorGrip, O_CREAT, O_RDWR } from "./descriptor.ts"
import type { Primitive } from "./primitive.ts"

const fs = process.getBuiltinModule("node:fs")

const O_NONBLOCK = 0x4
const O_EXLOCK = 0x20

export const make = (): Primitive => ({
  name: "open(2) O_EXLOCK",
  take: (path) => {
    try {
      return descriptorGrip(fs.openSync(path, O_RDWR | O_CREAT | O_EXLOCK | O_NONBLOCK, 0o600))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined
      throw error
    }
  }
})
