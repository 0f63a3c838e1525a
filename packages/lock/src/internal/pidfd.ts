/**
 * Signalling through a pidfd (Linux 5.3): the descriptor pins the process, so that nobody else can get its pid between
 * looking and signalling.
 */
import { type Libc, viaBun, viaKoffi, viaNode } from "./libc.ts"
import { choose, here } from "./primitive.ts"

const fs = process.getBuiltinModule("node:fs")

// the same numbers on every architecture
const SYS_pidfd_send_signal = 424
const SYS_pidfd_open = 434

const signals = { SIGTERM: 15, SIGKILL: 9 } as const

export interface Pidfd {
  readonly send: (signal: keyof typeof signals) => boolean
  readonly close: () => void
}

interface Calls {
  readonly open: (pid: number) => number
  readonly send: (descriptor: number, signal: number) => number
}

let calls: Calls | null | undefined

const bindAll = ({ bind }: Libc): Calls => {
  const open = bind({ name: "syscall", takes: ["long", "int", "int"], gives: "long" })
  const send = bind({ name: "syscall", takes: ["long", "int", "int", "long", "int"], gives: "long" })
  return {
    open: (pid) => open(SYS_pidfd_open, pid, 0),
    send: (descriptor, signal) => send(SYS_pidfd_send_signal, descriptor, signal, 0, 0)
  }
}

/** Once per process; `null` where there is no FFI. */
const load = (): Calls | null => {
  if (process.platform !== "linux") return null
  const ways = { "bun:ffi flock(2)": viaBun, "node:ffi flock(2)": viaNode, "koffi flock(2)": viaKoffi } as const
  for (const name of choose(here())) {
    if (!(name in ways)) continue
    try {
      return bindAll(ways[name as keyof typeof ways]())
    } catch {
      continue
    }
  }
  return null
}

/** `undefined` where the system or runtime has none, or the process is not there. */
export const openPidfd = (pid: number): Pidfd | undefined => {
  calls ??= load()
  const descriptor = calls?.open(pid) ?? -1
  if (descriptor < 0) return undefined
  return {
    send: (signal) => calls!.send(descriptor, signals[signal]) === 0,
    close: () => fs.closeSync(descriptor)
  }
}
