/** What the runtime under us can do: FFI by name, without a cost when it is not asked for. */

/** The part of `bun:ffi` used here. */
export interface BunFfi {
  readonly dlopen: (
    name: string,
    symbols: Record<string, { readonly args: ReadonlyArray<string>; readonly returns: string }>
  ) => { readonly symbols: Record<string, (...args: Array<any>) => any> & { readonly getpwuid: (uid: number) => any } }
  readonly read: {
    readonly i32: (pointer: any, offset: number) => number
    readonly ptr: (pointer: any, offset: number) => any
  }
  readonly CString: new (pointer: any) => { toString(): string }
  readonly ptr: (view: ArrayBufferView) => any
}

/** The part of `node:ffi` used here (Node 26.9 and later). */
export interface NodeFfi {
  readonly dlopen: (
    name: string | null,
    symbols: Record<string, { readonly arguments: ReadonlyArray<string>; readonly return: string }>
  ) => { readonly functions: Record<string, (...args: Array<any>) => any> }
  readonly getInt32: (pointer: any) => number
}

/** `require` that resolves from this file, for modules only one runtime has. */
const requireHere = (): NodeJS.Require => process.getBuiltinModule("node:module").createRequire(import.meta.url)

export const bunFfi = (): BunFfi => requireHere()("bun:ffi") as BunFfi

/** The part of koffi used here. */
export interface Koffi {
  readonly load: (name: string | null) => { readonly func: (prototype: string) => (...args: Array<any>) => any }
  readonly errno: () => number
}

/**
 * koffi's native part for this platform, a package of its own without an install script; the JavaScript around it costs
 * 6 ms more and is not needed for plain prototypes. An application that has all of koffi is good, too.
 */
export const loadKoffi = (): Koffi => {
  const require = requireHere()
  try {
    return require(`@koromix/koffi-${process.platform}-${process.arch}`)
  } catch {
    return require("koffi")
  }
}

/**
 * A builtin module, or `undefined` where the runtime has none. `node:ffi` and, on Node 22, `node:sqlite` print an
 * `ExperimentalWarning` when loaded, which is nothing a person who starts a service can act on: it is dropped.
 */
export const quietly = (name: "node:ffi" | "node:sqlite"): unknown => {
  const emitWarning = process.emitWarning
  process.emitWarning = (() => undefined) as typeof process.emitWarning
  try {
    return (process.getBuiltinModule as (id: string) => unknown)(name)
  } finally {
    process.emitWarning = emitWarning
  }
}

export const nodeFfi = (): NodeFfi | undefined => quietly("node:ffi") as NodeFfi | undefined

/** Names of libc to try, most likely first. */
export const libcNames = (platform: NodeJS.Platform): ReadonlyArray<string> =>
  platform === "darwin" ? ["libSystem.B.dylib"] : ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"]
