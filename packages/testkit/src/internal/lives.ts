/** Which process a pid means: pids come back, processes do not. */
import type { Happening } from "../Timeline.ts"

export type Of<Tag extends Happening["_tag"]> = Extract<Happening, { readonly _tag: Tag }>

export interface Life {
  readonly pid: number
  readonly from: number
  readonly role: string
  readonly ended: Of<"Ended"> | undefined
}

/** What the test did, not a process. */
export const isDeed = (one: Happening): one is Of<"Signal" | "Fault" | "Note"> =>
  one._tag === "Signal" || one._tag === "Fault" || one._tag === "Note"

/**
 * The lives in order of start, and whose life a happening belongs to: the last of its pid begun by then, else the first.
 * A life begins with `Started`, or with the first that is known of a process nobody saw start; what the test did to a
 * pid, and what the log says of it, begins none.
 */
export const livesOf = (
  happenings: ReadonlyArray<Happening>
): { readonly lives: ReadonlyArray<Life>; readonly lifeOf: (one: Happening) => Life | undefined } => {
  const lives: Array<{ -readonly [Key in keyof Life]: Life[Key] }> = []
  const byPid = new Map<number, Array<Life>>()
  for (const one of happenings) {
    if (isDeed(one) || one._tag === "Log" || one._tag === "Seen" || one._tag === "Fenced") continue
    const own = byPid.get(one.pid) ?? []
    let life = lives.findLast(({ pid }) => pid === one.pid)
    if (life === undefined || (one._tag === "Started" && life.ended !== undefined)) {
      life = { pid: one.pid, from: one.at, role: "", ended: undefined }
      lives.push(life)
      byPid.set(one.pid, [...own, life])
    }
    if (one._tag === "Started") life.role = one.role
    if (one._tag === "Ended") life.ended ??= one
  }
  return {
    lives,
    lifeOf: (one) => {
      const own = "pid" in one && one.pid !== undefined ? (byPid.get(one.pid) ?? []) : []
      return own.findLast(({ from }) => from <= one.at) ?? own[0]
    }
  }
}
