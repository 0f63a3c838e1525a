import { sep } from "node:path"

/** The bound before every path below a directory: such a path begins with it. */
export const below = (directory: string): string => (directory.endsWith(sep) ? directory : directory + sep)

/** The bound after every path below a directory, in the order the index compares paths. */
export const above = (directory: string): string => {
  const prefix = below(directory)
  return prefix.slice(0, -1) + String.fromCharCode(sep.charCodeAt(0) + 1)
}

/** Whether a path is the directory itself or lies below it. Both absolute and normal. */
export const within = (directory: string, path: string): boolean =>
  path === directory || path.startsWith(below(directory))
