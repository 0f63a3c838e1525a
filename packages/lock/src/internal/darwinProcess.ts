/** macOS: libproc(3) and sysctl(3). Written from <sys/proc_info.h>; not run by this repository's Linux tests. */
import { throughAny } from "./libc.ts"
import { absentOrHidden, hashed, once, orElse } from "./memo.ts"
import type { Kernel, Seen } from "./sighting.ts"

const PROC_PIDTBSDINFO = 3
const SSTOP = 4
const SZOMB = 5
/** `struct proc_bsdinfo`: pbi_status at 4, pbi_ppid at 16, pbi_start_tvsec at 120, pbi_start_tvusec at 128. */
const size = 136

/** The fields of a `struct proc_bsdinfo`. */
export const readInfo = (info: Buffer): Seen => ({
  ended: info.readUInt32LE(4) === SZOMB,
  stopped: info.readUInt32LE(4) === SSTOP,
  start: String(info.readBigUInt64LE(120) * 1_000_000n + info.readBigUInt64LE(128)),
  parent: info.readUInt32LE(16)
})

const calls = once(() =>
  throughAny(({ bind }) => ({
    info: bind({ name: "proc_pidinfo", takes: ["int", "int", "long", "buffer", "int"], gives: "int" }),
    sysctl: bind({ name: "sysctlbyname", takes: ["buffer", "buffer", "buffer", "long", "long"], gives: "int" }),
    hostID: bind({ name: "gethostuuid", takes: ["buffer", "buffer"], gives: "int" })
  }))
)

const sysctl = (name: string): string => {
  const [text, length] = [Buffer.alloc(64), Buffer.alloc(8)]
  length.writeBigUInt64LE(64n)
  const failed = calls()?.sysctl(Buffer.from(`${name}\0`), text, length, 0, 0) !== 0
  return failed ? "" : text.toString("latin1", 0, Math.max(0, text.indexOf(0)))
}

export const darwin: Kernel = {
  look: (pid) => {
    const info = Buffer.alloc(size)
    // the third argument 1 asks for zombies too
    const got = orElse(() => calls()?.info(pid, PROC_PIDTBSDINFO, 1, info, size), undefined)
    return got === size ? readInfo(info) : absentOrHidden(pid)
  },
  boot: once(() => orElse(() => sysctl("kern.bootsessionuuid"), "")),
  namespace: () => "1",
  machine: once(() => {
    const id = Buffer.alloc(16)
    return orElse(() => calls()?.hostID(id, Buffer.alloc(16)), undefined) === 0 ? hashed(id.toString("hex")) : ""
  })
}
