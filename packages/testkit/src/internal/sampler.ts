/** Looks at a service from outside, again and again, and notes what has changed. */
import * as identity from "@holdfast/lock/identity"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import type { Life, Sample } from "../Observation.ts"
import { lockHolder } from "./lockHolder.ts"
import { livesIn, markedIn, textOf } from "./marks.ts"
import type { Recorder } from "./recorder.ts"
import { type Origin, since } from "./stamp.ts"

/** Milliseconds between two looks. */
export const lookEveryMs = 50

interface Known {
  readonly identity: identity.ProcessIdentity
  lastSeenAt: number
  ended: boolean
  peakRssBytes: number | undefined
}

const registeredIn = (file: string): { readonly pid?: number; readonly instanceID?: string } => {
  try {
    return (JSON.parse(textOf(file)) as { readonly pid?: number; readonly instanceID?: string } | null) ?? {}
  } catch {
    return {} // no registration, or a test's own idea of one
  }
}

/** The most memory a process held until now, in proc_pid_status(5). */
const peakOf = (pid: number): number | undefined => {
  const [, kilobytes] = /^VmHWM:\s*(\d+) kB/m.exec(textOf(`/proc/${pid}/status`)) ?? []
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}

export interface Sampler {
  readonly look: () => void
  readonly samples: () => ReadonlyArray<Sample>
  readonly lives: () => ReadonlyArray<Life>
}

export const sampler = (paths: ServicePaths, scratch: string, recorder: Recorder, from: Origin): Sampler => {
  const samples: Array<Sample> = []
  const known = new Map<number, Known>()
  const meet = (pid: number | undefined) => {
    if (pid === undefined || pid === process.pid || known.has(pid)) return
    const found = identity.ofPid(pid)
    if (found === undefined) return
    known.set(pid, { identity: found, lastSeenAt: since(from), ended: false, peakRssBytes: undefined })
    recorder.add({ _tag: "Started", pid, role: "process" })
  }
  const follow = (one: Known) => {
    one.peakRssBytes = peakOf(one.identity.pid) ?? one.peakRssBytes
    if (identity.state(one.identity) !== "dead") return void (one.lastSeenAt = since(from))
    one.ended = true
    recorder.add({ _tag: "Ended", pid: one.identity.pid, code: null })
  }
  const look = () => {
    const holder = lockHolder(paths)
    const { instanceID, pid: registered } = registeredIn(paths.registration)
    for (const pid of [...markedIn(scratch), holder]) meet(pid)
    for (const one of known.values()) if (!one.ended) follow(one)
    const last = samples.at(-1)
    if (last?.holder === holder && last?.registered === registered && last?.instanceID === instanceID) return
    samples.push({ at: since(from), holder, registered, instanceID })
    if (last?.holder === holder) return
    if (last?.holder !== undefined) recorder.add({ _tag: "Unlocked", pid: last.holder })
    if (holder !== undefined) recorder.add({ _tag: "Locked", pid: holder })
  }
  return {
    look,
    samples: () => samples,
    lives: () => {
      look()
      return livesIn(scratch, from).map((life) => {
        const seen = known.get(life.pid)
        return {
          ...life,
          to: life.to ?? (seen?.ended === true ? seen.lastSeenAt : undefined),
          peakRssBytes: life.peakRssBytes ?? seen?.peakRssBytes
        }
      })
    }
  }
}
