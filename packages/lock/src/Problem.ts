/**
 * A system error as a sentence for a person and a thing to do. The one table from errno to words.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */

/**
 * What went wrong on which path, in words; `code` is the system's or ours.
 *
 * @category models
 * @since 0.1.0
 */
export interface Problem {
  readonly code: string
  readonly path: string
  readonly message: string
  readonly action: string
}

const words: Readonly<Record<string, readonly [reason: string, action: string]>> = {
  EACCES: ["permission denied", "Give yourself access to it, or name another directory."],
  EPERM: ["permission denied", "Give yourself access to it, or name another directory."],
  EROFS: ["the file system is read-only", "Make it writable, or name another directory."],
  ENOTDIR: ["it, or a part of its path, is not a directory", "Remove what is there, or name another directory."],
  EEXIST: ["it, or a part of its path, is not a directory", "Remove what is there, or name another directory."],
  EISDIR: ["there is a directory where a file belongs", "Remove it, or name another directory."],
  ENOSPC: ["the disk is full", "Free some space and try again."],
  EDQUOT: ["the disk quota is used up", "Free some space and try again."],
  EMFILE: ["too many files are open", "Raise the limit of open files (ulimit -n) and try again."],
  ENFILE: ["too many files are open on this machine", "Close some programs and try again."],
  ENOENT: ["a part of its path is missing", "Create it, or name another directory."],
  ENAMETOOLONG: ["the path is too long", "Name a directory with a shorter path."],
  ELOOP: ["its path is a circle of symbolic links", "Remove the links, or name another directory."],
  ENOLCK: ["the file system grants no locks", "Name a directory on a local disk."],
  EOPNOTSUPP: ["the file system knows no such operation", "Name a directory on a local disk."],
  EIO: ["the disk reports an error", "Check the disk, or name another directory."]
}

/**
 * Normalises a thrown system error. `doing` completes "Cannot … <path>".
 *
 * **When to use** Where a system error is to be read by a person. An errno that has no words of its own is named.
 *
 * **Example**
 *
 * ```ts
 * import { problem } from "@holdfast/lock/Problem"
 *
 * const found = problem("write to", "/var/lib/hello", { code: "EROFS" })
 * console.log(found.message) // => "Cannot write to /var/lib/hello: the file system is read-only."
 * console.log(found.action) // => "Make it writable, or name another directory."
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const problem = (doing: string, path: string, error: unknown): Problem => {
  const found = (error as NodeJS.ErrnoException | null | undefined)?.code ?? "UNKNOWN"
  const code = typeof found === "string" ? found : `error ${String(found)}`
  const [reason, action] = words[code] ?? [`the system says ${code}`, "Name another directory, or report this."]
  return { code, path, message: `Cannot ${doing} ${oneLine(path)}: ${reason}.`, action }
}

/**
 * Text of unknown origin as part of one line: control characters and line breaks become spaces.
 *
 * **When to use** Before text of a file, a path or another program is shown: it may hold escape sequences of a terminal.
 *
 * **Example**
 *
 * ```ts
 * import { oneLine } from "@holdfast/lock/Problem"
 *
 * console.log(oneLine("two\nlines")) // => "two lines"
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
