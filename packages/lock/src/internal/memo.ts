/** Small things that the platform modules share. */

/** Computed when first asked for, then kept: none of it changes while a process runs. */
export const once = <A>(compute: () => A): (() => A) => {
  let kept: { readonly value: A } | undefined
  return () => (kept ??= { value: compute() }).value
}

export const orElse = <A>(read: () => A, otherwise: A): A => {
  try {
    return read()
  } catch {
    return otherwise
  }
}

/** machine-id(5) asks not to show it to others as it is. */
export const hashed = (text: string): string =>
  text === ""
    ? ""
    : process.getBuiltinModule("node:crypto").createHash("sha256").update(`holdfast ${text}`).digest("hex").slice(0, 16)

/** The kernel's own word on whether a pid is in use: a process may be hidden from us and there all the same. */
export const absentOrHidden = (pid: number): "absent" | "hidden" => {
  try {
    process.kill(pid, 0)
    return "hidden"
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH" ? "absent" : "hidden"
  }
}
