/** The lines of a file around one of them, read from the disk as an editor would. */
import { open } from "node:fs/promises"
import type { Preview } from "./State.ts"
import { largestFile } from "../Walk.ts"

/** As many as the tallest screen shows. */
const reach = 100

/** `undefined` when the file cannot be read now. */
export const around = async (file: string, line: number): Promise<Preview | undefined> => {
  const handle = await open(file).catch(() => undefined)
  if (handle === undefined) return undefined
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(largestFile), position: 0 })
    const all = buffer.toString("utf8", 0, bytesRead).split("\n")
    if (line > all.length) return undefined
    const from = Math.max(line - reach, 1)
    const lines = all.slice(from - 1, line + reach).map((text) => text.replace(/\r$/, "").slice(0, 2000))
    return { file, line, from, lines }
  } catch {
    return undefined
  } finally {
    await handle.close()
  }
}
