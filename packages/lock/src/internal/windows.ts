/**
 * Windows: a handle opened with share mode 0 is the lock. Nobody can open or delete the file meanwhile, so there is no
 * inode to compare. Not run by this repository's Linux tests.
 */
import { O_CREAT, O_RDWR } from "./descriptor.ts"
import type { Grip, Primitive, PrimitiveName } from "./primitive.ts"
import { bunFfi, loadKoffi } from "./runtime.ts"

const fs = process.getBuiltinModule("node:fs")

/** libuv: share mode 0. */
const UV_FS_O_EXLOCK = 0x10000000

const GENERIC_READ_WRITE = 0xc0000000
const OPEN_ALWAYS = 4
const FILE_ATTRIBUTE_NORMAL = 0x80
const ERROR_SHARING_VIOLATION = 32

const viaLibuv = (path: string): Grip | undefined => {
  try {
    const descriptor = fs.openSync(path, O_RDWR | O_CREAT | UV_FS_O_EXLOCK, 0o600)
    return { inode: () => undefined, close: () => fs.closeSync(descriptor) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EBUSY") return undefined
    throw error
  }
}

interface Kernel32 {
  /** The handle, or `undefined` for INVALID_HANDLE_VALUE. */
  readonly open: (path: string) => unknown
  readonly lastError: () => number
  readonly close: (handle: unknown) => void
}

const viaKernel =
  (kernel: Kernel32) =>
  (path: string): Grip | undefined => {
    const handle = kernel.open(path)
    if (handle !== undefined) return { inode: () => undefined, close: () => kernel.close(handle) }
    const code = kernel.lastError()
    if (code === ERROR_SHARING_VIOLATION) return undefined
    throw Object.assign(new Error(`CreateFileW: error ${code}`), { code: code === 5 ? "EACCES" : `error ${code}` })
  }

const bunKernel = (): Kernel32 => {
  const { dlopen, ptr } = bunFfi()
  const kernel = dlopen("kernel32.dll", {
    CreateFileW: { args: ["ptr", "u32", "u32", "ptr", "u32", "u32", "ptr"], returns: "i64" },
    CloseHandle: { args: ["i64"], returns: "i32" },
    GetLastError: { args: [], returns: "u32" }
  }).symbols
  return {
    open: (path) => {
      const name = Buffer.from(`${path}\0`, "utf16le")
      const handle: bigint = kernel["CreateFileW"]!(
        ptr(name),
        GENERIC_READ_WRITE,
        0,
        null,
        OPEN_ALWAYS,
        FILE_ATTRIBUTE_NORMAL,
        null
      )
      return BigInt(handle) === -1n ? undefined : handle
    },
    lastError: () => kernel["GetLastError"]!(),
    close: (handle) => kernel["CloseHandle"]!(handle)
  }
}

const koffiKernel = (): Kernel32 => {
  const library = loadKoffi().load("kernel32.dll")
  const create = library.func("intptr_t __stdcall CreateFileW(str16, uint32, uint32, void *, uint32, uint32, void *)")
  const close = library.func("int __stdcall CloseHandle(intptr_t)")
  const lastError = library.func("uint32 __stdcall GetLastError()")
  return {
    open: (path) => {
      const handle: number | bigint = create(
        path,
        GENERIC_READ_WRITE,
        0,
        null,
        OPEN_ALWAYS,
        FILE_ATTRIBUTE_NORMAL,
        null
      )
      return BigInt(handle) === -1n ? undefined : handle
    },
    lastError,
    close
  }
}

/** Throws when the runtime lacks it. */
export const make = (name: PrimitiveName): Primitive => ({
  name,
  take:
    name === "open share mode 0"
      ? viaLibuv
      : viaKernel(name === "bun:ffi CreateFileW share mode 0" ? bunKernel() : koffiKernel())
})
