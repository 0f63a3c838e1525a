/** A service whose processes note what they come to, whoever starts them. */
import { launchOf } from "@holdfast/client/Spawner"
import type { ServiceSpec } from "@holdfast/lifecycle/ServiceSpec"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"

const path = process.getBuiltinModule("node:path")
const url = process.getBuiltinModule("node:url")

const preload = url.fileURLToPath(new URL(`./preload${path.extname(import.meta.url)}`, import.meta.url))

const isBun = (command: string) => path.basename(command).startsWith("bun")

/** A runtime that can load a module of ours before the program; a compiled executable cannot. */
export const isWatchable = (command: string): boolean => isBun(command) || path.basename(command).startsWith("node")

export const preloading = (command: string): ReadonlyArray<string> => [
  isBun(command) ? "--preload" : "--import",
  preload
]

/** The same service, started with the testkit's module loaded first, where its runtime can. */
export const watched = (spec: ServiceSpec, paths: ServicePaths): ServiceSpec => {
  const { args, command } = launchOf(spec, paths)
  return isWatchable(command) ? { ...spec, entry: { command, args: [...preloading(command), ...args] } } : spec
}
