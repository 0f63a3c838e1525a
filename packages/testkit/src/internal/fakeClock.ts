/** A wall clock that jumps, by libfaketime: members read their offset from a file. */
const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")

/** Where Debian, Fedora, Arch and Alpine, and whoever builds it himself, have it. */
const places: ReadonlyArray<string> = [
  "/usr/lib/x86_64-linux-gnu/faketime",
  "/usr/lib/aarch64-linux-gnu/faketime",
  "/usr/lib64/faketime",
  "/usr/lib/faketime",
  "/usr/local/lib/faketime"
]

export const libraryIn = (exists: (file: string) => boolean): string | undefined =>
  places.map((place) => `${place}/libfaketimeMT.so.1`).find(exists)

const fileIn = (scratch: string): string => path.join(scratch, "clock-offset")

/** In milliseconds. The file is the only state: every verb of one test sees the same clock. */
const offsetIn = (scratch: string): number => {
  const file = fileIn(scratch)
  return fs.existsSync(file) ? Math.round(Number(fs.readFileSync(file, "utf8")) * 1000) : 0
}

/** Moves the clock by that many milliseconds, and returns how far it is from the true one. */
export const jump = (scratch: string, byMs: number): number => {
  const offset = offsetIn(scratch) + byMs
  const file = fileIn(scratch)
  fs.writeFileSync(`${file}.new`, `${offset < 0 ? "" : "+"}${(offset / 1000).toFixed(3)}\n`)
  fs.renameSync(`${file}.new`, file) // read at every look at the clock, and so never half-written
  return offset
}

export const environment = (scratch: string, library: string): Readonly<Record<string, string>> => ({
  LD_PRELOAD: library,
  FAKETIME_TIMESTAMP_FILE: fileIn(scratch),
  FAKETIME_NO_CACHE: "1",
  // a clock that is set leaves the monotonic one alone
  FAKETIME_DONT_FAKE_MONOTONIC: "1"
})
