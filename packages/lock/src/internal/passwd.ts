/**
 * The home directory in the password database, the same under Node and Bun.
 *
 * Node's `os.userInfo` asks `getpwuid_r`; Bun's follows `$HOME`, and a Node owner and a Bun contender must not elect
 * two owners, so under Bun libc is asked through its FFI.
 */
import { bunFfi, libcNames } from "./runtime.ts"

const os = process.getBuiltinModule("node:os")
const fs = process.getBuiltinModule("node:fs")

/** Offset of `pw_dir` in `struct passwd` (64-bit): macOS has three more fields before it. */
const dirOffset = (platform: NodeJS.Platform): number => (platform === "darwin" ? 48 : 32)

const byBunFfi = (uid: number): string | undefined => {
  const { dlopen, read, CString } = bunFfi()
  for (const name of libcNames(process.platform)) {
    try {
      const libc = dlopen(name, { getpwuid: { args: ["u32"], returns: "ptr" } })
      const entry = libc.symbols.getpwuid(uid)
      return entry === null || entry === 0
        ? undefined
        : String(new CString(read.ptr(entry, dirOffset(process.platform))))
    } catch {
      continue
    }
  }
  return byFile(uid)
}

const byFile = (uid: number): string | undefined => {
  const lines = fs.readFileSync("/etc/passwd", "utf8").split("\n")
  const entry = lines.map((line) => line.split(":")).find((fields) => fields[2] === String(uid))
  return entry?.[5]
}

/**
 * Home of the effective user in the password database; `undefined` where there is no entry (or no database).
 *
 * **Details** It is the same under Node and Bun, whatever `HOME` says: both must elect one owner.
 *
 * **Example**
 *
 * ```ts
 * import { homeOfUser, resolve } from "@holdfast/lock/ServicePaths"
 *
 * // Where the files would be for a `HOME` that is not set.
 * export const withoutHome = () =>
 *   resolve({ app: "hello" }, { platform: process.platform, environment: {}, home: homeOfUser, cwd: process.cwd })
 * ```
 *
 * Source: getpwuid(3).
 *
 * @category constructors
 * @since 0.1.0
 */
export const homeOfUser = (): string | undefined => {
  const uid = process.geteuid?.()
  if (uid !== undefined && process.versions["bun"] !== undefined) return byBunFfi(uid) || undefined
  try {
    return os.userInfo().homedir || undefined
  } catch {
    return undefined // libuv answers ENOENT when the user has no entry
  }
}
