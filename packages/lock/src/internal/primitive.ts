/**
 * The lock primitives a runtime may have, and which to try first.
 *
 * A primitive opens and locks a path in one step, since macOS and Windows lock at open. Each platform is a small
 * module with the same few functions; `choose` is pure.
 */

/** An open lock file. It is held by a number or a native handle, never by a `FileHandle`: a collected one lets go. */
export interface Grip {
  /** Device and inode it holds; `undefined` where the platform refuses deletion of an open file instead. */
  readonly inode: () => string | undefined
  /** What a child can inherit, and hold the lock by; absent where none is inherited. */
  readonly descriptor?: number
  /** Lets go, by close only: LOCK_UN would also drop the lock of a child that inherited the descriptor. */
  readonly close: () => void
}

export interface Primitive {
  readonly name: string
  /** `undefined` when another holds the lock; throws the system's error for anything else. */
  readonly take: (path: string) => Grip | undefined
  /** Locks what an inherited descriptor has open: `undefined` when another has it. Absent where none is inherited. */
  readonly adopt?: (descriptor: number) => Grip | undefined
}

export type PrimitiveName =
  | "bun:ffi flock(2)"
  | "node:ffi flock(2)"
  | "koffi flock(2)"
  | "flock(1)"
  | "open(2) O_EXLOCK"
  | "open share mode 0"
  | "bun:ffi CreateFileW share mode 0"
  | "koffi CreateFileW share mode 0"

export interface Runtime {
  readonly platform: NodeJS.Platform
  readonly name: "node" | "bun"
  /** Major and minor of Node; what Bun says it emulates does not count. */
  readonly version: readonly [major: number, minor: number]
}

/** Primitives to try, in the order measured fastest. Empty: nothing is known to hold on this platform. */
export const choose = (runtime: Runtime): ReadonlyArray<PrimitiveName> => {
  const bun = runtime.name === "bun"
  const [major, minor] = runtime.version
  const ffi: ReadonlyArray<PrimitiveName> = bun
    ? ["bun:ffi flock(2)", "koffi flock(2)"]
    : major > 26 || (major === 26 && minor >= 9)
      ? ["node:ffi flock(2)", "koffi flock(2)"]
      : ["koffi flock(2)"]
  switch (runtime.platform) {
    case "linux":
    case "android":
      return [...ffi, "flock(1)"]
    case "darwin":
    case "freebsd":
      return ["open(2) O_EXLOCK", ...ffi]
    case "win32":
      // Bun is reported to ignore libuv's share-mode flag
      return bun
        ? ["bun:ffi CreateFileW share mode 0", "koffi CreateFileW share mode 0"]
        : ["open share mode 0", "koffi CreateFileW share mode 0"]
    default:
      return []
  }
}

export const here = (): Runtime => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  return {
    platform: process.platform,
    name: process.versions["bun"] === undefined ? "node" : "bun",
    version: [major, minor]
  }
}
