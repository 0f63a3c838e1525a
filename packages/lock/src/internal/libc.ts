/** libc's functions through whatever FFI the runtime has. Throws where it has none. */
import { choose, here } from "./primitive.ts"
import { bunFfi, libcNames, loadKoffi, nodeFfi } from "./runtime.ts"

/** All that is called here gives an integer and takes integers (a null pointer is 0) or memory to read and write. */
export interface Prototype {
  readonly name: string
  readonly takes: ReadonlyArray<"int" | "long" | "buffer">
  readonly gives: "int" | "long"
}

export interface Libc {
  readonly bind: (prototype: Prototype) => (...values: ReadonlyArray<number | Buffer>) => number
  readonly errno: () => number
}

const errnoSymbol = (platform: NodeJS.Platform): string =>
  platform === "linux" ? "__errno_location" : platform === "android" ? "__errno" : "__error"

const onMac = process.platform === "darwin" || process.platform === "freebsd"

const bits = { int: "i32", long: "i64" } as const
const bunTypes = { ...bits, buffer: "ptr" } as const
const nodeTypes = { ...bits, buffer: "pointer" } as const
const koffiTypes = { int: "int", long: "long", buffer: "void *" } as const

export const viaBun = (): Libc => {
  const { dlopen, ptr, read } = bunFfi()
  const open = (symbols: Parameters<typeof dlopen>[1]) => {
    let failure: unknown
    for (const name of libcNames(process.platform)) {
      try {
        return dlopen(name, symbols).symbols
      } catch (error) {
        failure = error
      }
    }
    throw failure
  }
  const symbol = errnoSymbol(process.platform)
  const location = open({ [symbol]: { args: [], returns: "ptr" } })[symbol]!
  return {
    bind: ({ gives, name, takes }) => {
      const call = open({ [name]: { args: takes.map((one) => bunTypes[one]), returns: bits[gives] } })[name]!
      return (...values) => Number(call(...values.map((value) => (typeof value === "number" ? value : ptr(value)))))
    },
    errno: () => read.i32(location(), 0)
  }
}

export const viaNode = (): Libc => {
  const ffi = nodeFfi()
  if (ffi === undefined) throw new Error("this Node has no node:ffi")
  const library = onMac ? "libSystem.B.dylib" : null
  const symbol = errnoSymbol(process.platform)
  const location = ffi.dlopen(library, { [symbol]: { arguments: [], return: "pointer" } }).functions[symbol]!
  return {
    bind: ({ gives, name, takes }) => {
      const prototype = { arguments: takes.map((one) => nodeTypes[one]), return: bits[gives] }
      const call = ffi.dlopen(library, { [name]: prototype }).functions[name]!
      return (...values) =>
        Number(call(...values.map((value, index) => (takes[index] === "long" ? BigInt(Number(value)) : value))))
    },
    errno: () => ffi.getInt32(location())
  }
}

export const viaKoffi = (): Libc => {
  const koffi = loadKoffi()
  const library = koffi.load(onMac ? "libSystem.B.dylib" : null)
  return {
    bind: ({ gives, name, takes }) => {
      const call = library.func(`${gives} ${name}(${takes.map((one) => koffiTypes[one]).join(", ")})`)
      return (...values) => Number(call(...values))
    },
    errno: () => koffi.errno()
  }
}

const ways = { "bun:ffi flock(2)": viaBun, "node:ffi flock(2)": viaNode, "koffi flock(2)": viaKoffi } as const

/** What `use` makes of the fastest FFI that can do it; `undefined` where there is none. */
export const throughAny = <A>(use: (libc: Libc) => A): A | undefined => {
  for (const name of choose(here())) {
    if (!(name in ways)) continue
    try {
      return use(ways[name as keyof typeof ways]())
    } catch {
      continue
    }
  }
  return undefined
}
