/** What can happen to a file. */
const crypto = process.getBuiltinModule("node:crypto")
const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")

/**
 * What happens to a file.
 *
 * **Details**
 *
 * - `"truncate"`: it is empty, in place: the same inode, so that locks and open descriptors stay.
 * - `"garbage"`: random-looking bytes in its place, the same inode; at least 4096 of them, and the same ones in every run.
 * - `"delete"`: it is gone. A directory goes with what is in it.
 * - `"directory"`: an empty directory stands in its place.
 * - `{ chmod }`: it has this mode. There must be one.
 * - `{ replace }`: another file with this text, mode 0600, is renamed over it: another inode.
 * - `{ link }`: a symbolic link to that target stands in its place.
 *
 * Where nothing is, `"truncate"` and `"delete"` do nothing, and the others make it. `"truncate"` and `"garbage"` of a
 * directory (the cache) are of every file in it.
 *
 * @category models
 * @since 0.1.0
 */
export type FileFault =
  | "truncate"
  | "garbage"
  | "delete"
  | "directory"
  | { readonly chmod: number }
  | { readonly replace: string }
  | { readonly link: string }

/** The same for the same name and size. */
const noise = (name: string, size: number): Buffer =>
  Buffer.concat(
    Array.from({ length: Math.ceil(size / 64) }, (_, block) =>
      crypto.createHash("sha512").update(`${name} ${block}`).digest()
    )
  ).subarray(0, size)

const filesIn = (place: string): ReadonlyArray<string> =>
  fs
    .readdirSync(place, { recursive: true, encoding: "utf8" })
    .map((name) => path.join(place, name))
    .filter((file) => fs.lstatSync(file).isFile())

const eachFile = (place: string, change: (file: string) => void): void => {
  const found = fs.statSync(place, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) filesIn(place).forEach(change)
  else change(place)
}

/** Makes it beside the place and renames it there; what is there now goes first if it is a directory. */
const put = (place: string, make: (beside: string) => void): void => {
  const beside = `${place}.replacing`
  fs.rmSync(beside, { recursive: true, force: true })
  make(beside)
  if (fs.lstatSync(place, { throwIfNoEntry: false })?.isDirectory() === true) fs.rmSync(place, { recursive: true })
  fs.renameSync(beside, place)
}

const truncate = (file: string): void => {
  if (fs.existsSync(file)) fs.truncateSync(file, 0)
}

const garble = (file: string): void => {
  const size = Math.max(fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0, 4096)
  fs.writeFileSync(file, noise(path.basename(file), size), { mode: 0o600 })
}

/** Throws what the file system says. */
export const garbleFile = (place: string, how: FileFault): void => {
  if (how === "truncate") eachFile(place, truncate)
  else if (how === "garbage") eachFile(place, garble)
  else if (how === "delete") fs.rmSync(place, { recursive: true, force: true })
  else if (how === "directory") {
    fs.rmSync(place, { recursive: true, force: true })
    fs.mkdirSync(place, { mode: 0o700 })
  } else if ("chmod" in how) fs.chmodSync(place, how.chmod)
  else if ("replace" in how) put(place, (beside) => fs.writeFileSync(beside, how.replace, { mode: 0o600 }))
  else put(place, (beside) => fs.symlinkSync(how.link, beside))
}

/** For the timeline. */
export const sentenceOf = (how: FileFault): string => {
  if (how === "truncate") return "is empty"
  if (how === "garbage") return "is garbage"
  if (how === "delete") return "is deleted"
  if (how === "directory") return "is a directory"
  if ("chmod" in how) return `has the mode ${how.chmod.toString(8)}`
  return "replace" in how ? "is another file" : `is a link to ${how.link}`
}
