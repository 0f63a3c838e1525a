/** Where the picture of a test is written. */
const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")

let written = 0

/** A new file for a test of that title, in `directory`, in what `HOLDFAST_TIMELINES` names, or in `timelines` here. */
export const timelineFile = (title: string, directory?: string): string => {
  const words = title
    .replaceAll(/[^A-Za-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 80)
  const place = directory ?? process.env["HOLDFAST_TIMELINES"] ?? "timelines"
  return path.resolve(place, `${words || "timeline"}-${process.pid}-${++written}.html`)
}

export const write = (file: string, html: string): void => {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, html)
}
