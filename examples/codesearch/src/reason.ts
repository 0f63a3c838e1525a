import * as Predicate from "effect/Predicate"

const words: Readonly<Record<string, string>> = {
  ENOENT: "there is nothing at that path",
  ENOTDIR: "it is not a directory",
  EEXIST: "it is not a directory",
  EISDIR: "index.db is a directory",
  EACCES: "it may not be read or written by you",
  EPERM: "it may not be read or written by you",
  EROFS: "the file system is read-only",
  ENOSPC: "there is no space left for it",
  EMFILE: "too many files are open",
  ENFILE: "too many files are open",
  ELOOP: "its symbolic links form a loop",
  EIO: "the disk reports an error"
}

/** The code of a failed system call (`"ENOENT"`) or database call (SQLite's primary result code). */
export const codeOf = (cause: unknown): string | number | undefined => {
  if (!Predicate.isObject(cause)) return undefined
  if ("errcode" in cause && Predicate.isNumber(cause.errcode)) return cause.errcode & 0xff
  return "code" in cause && Predicate.isString(cause.code) ? cause.code : undefined
}

/** Why something failed, in a few words that continue a sentence; never a stack trace. */
export const reasonOf = (cause: unknown): string => {
  const code = codeOf(cause)
  const known = Predicate.isString(code) ? words[code] : undefined
  if (known !== undefined) return known
  return cause instanceof Error ? cause.message : "for an unknown reason"
}
