/** Before `npm start`: installs what the lock file says, unless that is what is installed. Runs on every Node. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"

const read = (name) => {
  try {
    return readFileSync(new URL(`../${name}`, import.meta.url), "utf8")
  } catch {
    return undefined
  }
}

// pnpm keeps what it has installed beside it
if (read("pnpm-lock.yaml") !== read("node_modules/.pnpm/lock.yaml")) {
  const { status } = spawnSync("npm run --silent setup", { shell: true, stdio: "inherit" })
  process.exitCode = status ?? 1
}
