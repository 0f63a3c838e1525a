/** Linux: /proc. */
import { absentOrHidden, hashed, once, orElse } from "./memo.ts"
import type { Kernel } from "./sighting.ts"

const fs = process.getBuiltinModule("node:fs")

const read = (path: string): string => orElse(() => fs.readFileSync(path, "utf8").trim(), "")
const inode = (name: string): string => orElse(() => fs.readlinkSync(`/proc/self/ns/${name}`), "").replace(/\D/g, "")

export const linux: Kernel = {
  /** The command may hold spaces and parentheses, so fields count from the last `)`. */
  look: (pid) => {
    const text = read(`/proc/${pid}/stat`)
    if (text === "") return absentOrHidden(pid)
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    const [state, parent] = fields
    const [ended, stopped] = [/[ZX]/, /[Tt]/].map((states) => states.test(state ?? "")) as [boolean, boolean]
    return { ended, stopped, start: fields[19] ?? "", parent: Number(parent ?? 0) }
  },
  boot: once(() => read("/proc/sys/kernel/random/boot_id")),
  // start times are shifted in another time namespace (time_namespaces(7)); kernels before 5.6 have none
  namespace: once(() => [inode("pid"), inode("time")].filter((id) => id !== "").join(".")),
  machine: once(() =>
    hashed(["/etc/machine-id", "/var/lib/dbus/machine-id"].map(read).find((id) => /^[0-9a-f]{32}$/.test(id)) ?? "")
  )
}
