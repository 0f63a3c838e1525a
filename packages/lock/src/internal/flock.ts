/** `flock(2)` through whatever FFI the runtime has, or `flock(1)` on the open descriptor. */
import type { Primitive, PrimitiveName } from "./primitive.ts"
import { bunFfi, libcNames, nodeFfi, requireHere } from "./runtime.ts"
import { descriptorGrip, O_CREAT, O_RDWR } from "./descriptor.ts"

const fs = process.getBuiltinModule("node:fs")

const LOCK_EX = 2
const LOCK_NB = 4
const EINTR = 4
const eagain = (platform: NodeJS.Platform): number => (platform === "linux" || platform === "android" ? 11 : 35)
const errnoSymbol = (platform: NodeJS.Platform): string =>
  platform === "linux" ? "__errno_location" : platform === "android" ? "__errno" : "__error"

/** Locks the open file; `false` when another holds it. */
type Flock = (descriptor: number) => boolean

const names: Readonly<Record<number, string>> = {
  1: "EPERM",
  5: "EIO",
  9: "EBADF",
  22: "EINVAL",
  37: "ENOLCK",
  38: "ENOSYS",
  95: "EOPNOTSUPP"
}

const looped = (call: (descriptor: number, operation: number) => number, errno: () => number): Flock => {
  const busy = eagain(process.platform)
  return (descriptor) => {
    for (;;) {
      if (call(descriptor, LOCK_EX | LOCK_NB) === 0) return true
      const code = errno()
      if (code === busy) return false
      if (code !== EINTR)
        throw Object.assign(new Error(`flock: errno ${code}`), { code: names[code] ?? `errno ${code}` })
    }
  }
}

const viaBun = (): Flock => {
  const { dlopen, read } = bunFfi()
  const errno = errnoSymbol(process.platform)
  const FD_CLOEXEC = 1
  const F_SETFD = 2
  let failure: unknown
  for (const name of libcNames(process.platform)) {
    try {
      const libc = dlopen(name, {
        flock: { args: ["i32", "i32"], returns: "i32" },
        fcntl: { args: ["i32", "i32", "i32"], returns: "i32" },
        [errno]: { args: [], returns: "ptr" }
      }).symbols
      const call = looped(libc["flock"]!, () => read.i32(libc[errno]!(), 0))
      return (descriptor) => {
        // Bun leaves an inherited descriptor open across exec; Node does not
        libc["fcntl"]!(descriptor, F_SETFD, FD_CLOEXEC)
        return call(descriptor)
      }
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

const viaNode = (): Flock => {
  const ffi = nodeFfi()
  if (ffi === undefined) throw new Error("this Node has no node:ffi")
  const errno = errnoSymbol(process.platform)
  const libc = ffi.dlopen(process.platform === "darwin" ? "libSystem.B.dylib" : null, {
    flock: { arguments: ["i32", "i32"], return: "i32" },
    [errno]: { arguments: [], return: "pointer" }
  }).functions
  return looped(libc["flock"]!, () => ffi.getInt32(libc[errno]!()))
}

/** The native part of koffi alone: its JavaScript wrapper costs 6 ms more and is not needed for one prototype. */
const koffi = (): {
  load: (name: string | null) => { func: (prototype: string) => (...args: Array<any>) => any }
  errno: () => number
} => {
  const require = requireHere()
  const beside = process.getBuiltinModule("node:module").createRequire(require.resolve("koffi"))
  try {
    return beside(`@koromix/koffi-${process.platform}-${process.arch}`)
  } catch {
    return beside("koffi")
  }
}

const viaKoffi = (): Flock => {
  const native = koffi()
  const flock = native.load(process.platform === "darwin" ? "libSystem.B.dylib" : null).func("int flock(int, int)")
  return looped(flock, () => native.errno())
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
  "bun:ffi flock(2)": viaBun,
  "node:ffi flock(2)": viaNode,
  "koffi flock(2)": viaKoffi,
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
