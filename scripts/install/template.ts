/** `npm create holdfast my-service`, as far as it goes without a registry. */
import * as assert from "node:assert/strict"
import * as path from "node:path"
import { processesOf } from "../left-behind.ts"
import type { Packed } from "./project.ts"
import { must } from "./run.ts"

/** Makes it, installs it, compiles it, runs its client and its tests. */
export const tryTemplate = async (
  folder: string,
  { tarballs }: Packed,
  around: Readonly<Record<string, string>>
): Promise<void> => {
  const create = ["exec", "--yes", `--package=${tarballs.get("create-holdfast")}`, "--", "create-holdfast"]
  await must("npm", [...create, path.basename(folder)], { cwd: path.dirname(folder) })
  const environment = { ...around, MY_SERVICE_STATE_DIR: `${folder}-state` }
  const npm = (...args: ReadonlyArray<string>) => must("npm", args, { cwd: folder, environment })
  const library = [...tarballs].filter(([name]) => name.startsWith("@")).map(([, tarball]) => tarball)
  await npm("install", ...library)
  await npm("run", "build")
  assert.match(await npm("start"), /^hello$/m)
  assert.match(await npm("run", "service", "status"), /^my-service v1\.0\.0 is ready \(PID \d+\)\.$/m)
  assert.match(await npm("run", "service", "stop"), /^my-service stopped\.$/m)
  assert.match(await npm("test"), /Tests +11 passed \(11\)/)
  assert.deepEqual(processesOf(environment.MY_SERVICE_STATE_DIR), [])
}
