/** What a platform's kernel says of processes, in one shape for all of them; chosen by a pure function. */
import { darwin } from "./darwinProcess.ts"
import { linux } from "./linuxProcess.ts"
import { windows } from "./windowsProcess.ts"

/** `absent`: no such process. `hidden`: it may be there, but we may not look. */
export type Sighting = Seen | "absent" | "hidden"

export interface Seen {
  /** It has ended, or is a zombie: it holds nothing and answers nobody. */
  readonly ended: boolean
  /** It stands still by a signal or a debugger; absent where that cannot be told. */
  readonly stopped?: boolean
  /** When it started, in the platform's finest unit; text without `/`. */
  readonly start: string
  /** `0` where it is not known. */
  readonly parent: number
}

export interface Kernel {
  readonly look: (pid: number) => Sighting
  /** Of this boot of this kernel; empty where it cannot be told, as each of these. */
  readonly boot: () => string
  /** Of what pids and start times are counted in. */
  readonly namespace: () => string
  /** Of this machine across boots, hashed. */
  readonly machine: () => string
}

/** `undefined`: this platform has no start times here. */
export const kernelOf = (platform: NodeJS.Platform): Kernel | undefined =>
  platform === "linux" || platform === "android"
    ? linux
    : platform === "darwin"
      ? darwin
      : platform === "win32"
        ? windows
        : undefined
