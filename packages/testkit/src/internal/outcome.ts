/** How a story ended, and how much there is of it. */
import type { Timeline } from "../Timeline.ts"
import type { Lane } from "./lanes.ts"

/** `passed`, or the failure's first line. */
export const outcome = ({ failure }: Timeline): string =>
  failure === undefined ? "passed" : (failure.trim().split("\n", 1)[0] ?? "").trim() || "failed"

const many = (count: number, one: string, more: string): string => `${count} ${count === 1 ? one : more}`

export const counted = (lanes: ReadonlyArray<Lane>): ReadonlyArray<string> => {
  const clients = lanes.filter(({ kind }) => kind === "client").length
  const processes = lanes.filter(({ kind }) => kind === "process").length
  return [many(processes, "process", "processes"), ...(clients === 0 ? [] : [many(clients, "client", "clients")])]
}
