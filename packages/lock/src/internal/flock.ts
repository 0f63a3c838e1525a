/** `flock(2)` through whatever FFI the runtime has, or `flock(1)` on the open descriptor. */
import { descriptorGrip, O_CREAT, O_RDWR } from "./descriptor.ts"
import { type Libc, viaBun, viaKoffi, viaNode } from "./libc.ts"
import type { Primitive, PrimitiveName } from "./primitive.ts"

const fs = process.getBuiltinModule("node:fs")

const LOCK_EX = 2
const LOCK_NB = 4
const EINTR = 4
/** It does not wait, so a signal can hardly interrupt it; a file system that always says so is broken. */
const interruptionLimit = 100
const FD_CLOEXEC = 1
const F_SETFD = 2
const eagain = (platform: NodeJS.Platform): number => (platform === "linux" || platform === "android" ? 11 : 35)

/** Locks the open file; `false` when another holds it. */
type Flock = (descriptor: number) => boolean

const names: Readonly<Record<number, string>> = {
  1: "EPERM",
  4: "EINTR",
  5: "EIO",
  9: "EBADF",
  22: "EINVAL",
  37: "ENOLCK",
  38: "ENOSYS",
  95: "EOPNOTSUPP"
}

const through = ({ bind, errno }: Libc): Flock => {
  const flock = bind({ name: "flock", takes: ["int", "int"], gives: "int" })
  const busy = eagain(process.platform)
  return (descriptor) => {
    for (let interruptions = 0; ;) {
      if (flock(descriptor, LOCK_EX | LOCK_NB) === 0) return true
      const code = errno()
      if (code === busy) return false
      if (code !== EINTR || ++interruptions > interruptionLimit) {
        throw Object.assign(new Error(`flock: errno ${code}`), { code: names[code] ?? `errno ${code}` })
      }
    }
  }
}

/** Bun leaves an inherited descriptor open across exec; Node does not. */
const throughBun = (): Flock => {
  const libc = viaBun()
  const fcntl = libc.bind({ name: "fcntl", takes: ["int", "int", "int"], gives: "int" })
  const flock = through(libc)
  return (descriptor) => {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return flock(descriptor)
  }
}

/** Locks our open file description from a child that inherits the descriptor; the child's end does not unlock it. */
const viaProgram = (): Flock => {
  const { spawnSync } = process.getBuiltinModule("node:child_process")
  const probe = spawnSync("flock", ["--version"], { stdio: "ignore" })
  if (probe.error !== undefined) throw probe.error
  return (descriptor) => {
    const run = spawnSync("flock", ["-n", "-x", "3"], { stdio: ["ignore", "ignore", "ignore", descriptor] })
    if (run.error !== undefined) throw run.error
    if (run.status === 0) return true
    if (run.status === 1) return false
    throw Object.assign(new Error(`flock(1) ended with ${run.status ?? run.signal}`), { code: "ENOLCK" })
  }
}

const makers: Readonly<Partial<Record<PrimitiveName, () => Flock>>> = {
  "bun:ffi flock(2)": throughBun,
  "node:ffi flock(2)": () => through(viaNode()),
  "koffi flock(2)": () => through(viaKoffi()),
  "flock(1)": viaProgram
}

/** Throws when the runtime lacks it. */
export const make = (name: PrimitiveName): Primitive => {
  const flock = makers[name]!()
  return {
    name,
    take: (path) => {
      const descriptor = fs.openSync(path, O_RDWR | O_CREAT, 0o600)
      let locked = false
      try {
        locked = flock(descriptor)
      } finally {
        if (!locked) fs.closeSync(descriptor)
      }
      return locked ? descriptorGrip(descriptor) : undefined
    },
    // locking again what the parent locked on the same description succeeds; it is the proof that it was locked
    adopt: (descriptor) => (flock(descriptor) ? descriptorGrip(descriptor) : undefined)
  }
}
