/**
 * Signalling through a pidfd (Linux 5.3): the descriptor pins the process, so that nobody else can get its pid between
 * looking and signalling.
 */
import { type Libc, throughAny } from "./libc.ts"

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

/** `undefined` where the system or runtime has none, or the process is not there. */
export const openPidfd = (pid: number): Pidfd | undefined => {
  if (process.platform !== "linux") return undefined
  if (calls === undefined) calls = throughAny(bindAll) ?? null // once per process
  const descriptor = calls?.open(pid) ?? -1
  if (descriptor < 0) return undefined
  return {
    send: (signal) => calls!.send(descriptor, signals[signal]) === 0,
    close: () => fs.closeSync(descriptor)
  }
}
