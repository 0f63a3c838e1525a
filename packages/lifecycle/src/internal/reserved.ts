/** Which paths are the lifecycle shell's, read as leniently as any router of an application may read them. */

const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** The path of a request target, in one spelling: no host, query, fragment or parameter, decoded, single slashes. */
export const pathOf = (target: string): string => {
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "").split(/[?#;]/, 1)[0]!
  return decoded(path)
    .replace(/\/{2,}/g, "/")
    .toLowerCase()
}

/** `/service` and everything below it. */
export const isReserved = (path: string): boolean => path === "/service" || path.startsWith("/service/")
