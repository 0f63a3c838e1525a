/**
 * What kind of file system a path is on: reported, not guessed around.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")

/**
 * A file system by its name in `statfs(2)`. `remote`: other machines may write to it, so a lock proves nothing about
 * them, and the same inode is no proof either.
 *
 * @category models
 * @since 0.1.0
 */
export interface FileSystem {
  readonly name: string
  readonly remote: boolean
}

/** Magic numbers of statfs(2), Linux. */
const kinds: Readonly<Record<number, readonly [name: string, remote: boolean]>> = {
  0x6969: ["nfs", true],
  0x517b: ["smb", true],
  0xff534d42: ["cifs", true],
  0xfe534d42: ["smb2", true],
  0x01021997: ["9p", true],
  0x5346414f: ["afs", true],
  0x65735546: ["fuse", true],
  0x6a656a63: ["virtiofs", true],
  0x794c7630: ["overlay", false],
  0xef53: ["ext4", false],
  0x9123683e: ["btrfs", false],
  0x58465342: ["xfs", false],
  0x01021994: ["tmpfs", false],
  0x2fc12fc1: ["zfs", false]
}

/**
 * The pure part. An unknown number is named by itself and counts as local: its lock was tested by then.
 *
 * **Example**
 *
 * ```ts
 * import * as fileSystem from "@holdfast/lock/fileSystem"
 *
 * console.log(fileSystem.named(0x6969)) // => { name: "nfs", remote: true }
 * console.log(fileSystem.named(0xef53)) // => { name: "ext4", remote: false }
 * ```
 *
 * Source: statfs(2).
 *
 * @category combinators
 * @since 0.1.0
 */
export const named = (magic: number): FileSystem => {
  const [name, remote] = kinds[magic >>> 0] ?? [`0x${(magic >>> 0).toString(16)}`, false]
  return { name, remote }
}

/**
 * The file system that `file` is on, or would be; `undefined` where the platform does not say (Linux does).
 *
 * **When to use** To say it to a person, and to believe an inode only where no other machine has it (`lease.provable`).
 *
 * **Details** Where the file is not there yet, the nearest directory above it is asked.
 *
 * **Example**
 *
 * ```ts
 * import * as fileSystem from "@holdfast/lock/fileSystem"
 *
 * export const warnIfShared = (directory: string): void => {
 *   const found = fileSystem.of(directory)
 *   if (found?.remote === true) console.warn(`${directory} is on ${found.name}: other machines may write to it.`)
 * }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const of = (file: string): FileSystem | undefined => {
  if (process.platform !== "linux") return undefined
  for (let at = file; ; at = path.dirname(at)) {
    try {
      return named(Number(fs.statfsSync(at).type))
    } catch {
      if (at === path.dirname(at)) return undefined
    }
  }
}
