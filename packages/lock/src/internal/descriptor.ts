import type { Grip } from "./primitive.ts"

const fs = process.getBuiltinModule("node:fs")

export const { O_CREAT, O_RDWR } = fs.constants

/** A lock held by a numeric descriptor. */
export const descriptorGrip = (descriptor: number): Grip => {
  let open = true
  return {
    descriptor,
    inode: () => {
      const stat = fs.fstatSync(descriptor, { bigint: true })
      return `${stat.dev}:${stat.ino}`
    },
    close: () => {
      if (!open) return // the number may be another file's by now
      open = false
      fs.closeSync(descriptor)
    }
  }
}
