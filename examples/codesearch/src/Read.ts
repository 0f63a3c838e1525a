import * as Effect from "effect/Effect"
import { constants } from "node:fs"
import { open } from "node:fs/promises"
import { join } from "node:path"
import type { Found } from "./Files.ts"
import { largestFile } from "./Walk.ts"

/** A file that was read: `text` is `undefined` when it is binary. The size and time are those it was read at. */
export interface Content {
  readonly file: Found
  readonly text: string | undefined
}

/**
 * Reads a file as UTF-8 (what is not, and a NUL, becomes U+FFFD). A file with a NUL byte in its first 8 KiB is
 * binary. Answers `undefined` for what has vanished, may not be read, became too large or is no regular file: a pipe
 * put in its place does not make it wait.
 */
export const read = (dir: string, name: string): Effect.Effect<Content | undefined> =>
  Effect.promise(() => content(dir, name).catch(() => undefined))

const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0)

const content = async (dir: string, name: string): Promise<Content | undefined> => {
  const handle = await open(join(dir, name), flags)
  try {
    const stats = await handle.stat()
    if (!stats.isFile() || stats.size > largestFile) return undefined
    const file: Found = { dir, name, size: stats.size, mtime: stats.mtimeMs }
    const bytes = Buffer.allocUnsafe(stats.size)
    let length = 0
    while (length < bytes.length) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return { file, text: decode(bytes.subarray(0, length)) }
  } finally {
    await handle.close()
  }
}

const decode = (bytes: Buffer): string | undefined =>
  bytes.subarray(0, 8192).includes(0)
    ? undefined
    : bytes
        .toString("utf8")
        .replace(/^\uFEFF/, "")
        .replaceAll("\0", "\uFFFD")
