/** The socket file of an owner: where it goes, why it cannot, and what dead owners left. */
import { type Problem, problem } from "@holdfast/lock/Problem"
import { isSocketName, type ServicePaths, socketOf } from "@holdfast/lock/ServicePaths"

const fs = process.getBuiltinModule("node:fs")
const path = process.getBuiltinModule("node:path")

/** Bytes of `sun_path` in `sockaddr_un`, its NUL included. A longer path is cut by some systems instead of refused. */
export const longest = (platform: NodeJS.Platform): number =>
  platform === "linux" || platform === "android" ? 108 : 104

/** Pure: why no socket can be bound at that path, whose directory has that mode; `undefined` when one can. */
export const whyNoSocket = (
  socketPath: string,
  directoryMode: number,
  platform: NodeJS.Platform
): Problem | undefined => {
  if (platform === "win32") {
    const message = "A service cannot listen on a Unix socket on Windows."
    return { code: "ENOTSUP", path: socketPath, message, action: "Leave listen out, or give it a port." }
  }
  const bytes = Buffer.byteLength(socketPath)
  if (bytes + 1 > longest(platform)) {
    const message = `The socket's path ${socketPath} is too long: ${bytes} bytes, and ${longest(platform) - 1} are allowed.`
    return {
      code: "ENAMETOOLONG",
      path: socketPath,
      message,
      action: "Name a directory with a shorter path, or listen on a port."
    }
  }
  // not every system looks at the mode of the socket itself
  if ((directoryMode & 0o077) !== 0) {
    const directory = path.dirname(socketPath)
    const message = `Other users may enter the directory ${directory}, where the service's socket belongs.`
    return { code: "EMODE", path: directory, message, action: `Run: chmod 700 '${directory}'` }
  }
  return undefined
}

/** Where this instance's socket goes, by the real path, so that clients can tell it from somebody else's. */
export const placeSocket = (paths: ServicePaths, instanceID: string): string | Problem => {
  try {
    const socketPath = socketOf({ ...paths, directory: fs.realpathSync(paths.directory) }, instanceID)
    const { mode } = fs.statSync(paths.directory)
    return whyNoSocket(socketPath, mode, process.platform) ?? socketPath
  } catch (error) {
    return problem("use the state directory", paths.directory, error)
  }
}

/** Removes the sockets of this service on which nobody listens any more. Only an owner may: nobody else binds one then. */
export const sweepSockets = async (paths: ServicePaths): Promise<void> => {
  const left = fs.readdirSync(paths.directory).filter((name) => isSocketName(paths, name))
  for (const name of left) {
    const socketPath = path.join(paths.directory, name)
    // asked, and not only guessed: where a lock was deleted, or in `fenced`, another owner may still be there
    const isSocket = fs.lstatSync(socketPath, { throwIfNoEntry: false })?.isSocket() === true
    if (isSocket && (await isDeserted(socketPath))) fs.rmSync(socketPath, { force: true })
  }
}

/** Connecting to a socket file is answered by the kernel at once, whether or not somebody accepts. */
const isDeserted = (socketPath: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = process.getBuiltinModule("node:net").connect({ path: socketPath })
    const settle = (deserted: boolean) => {
      socket.destroy()
      resolve(deserted)
    }
    socket.on("connect", () => settle(false))
    socket.on("error", (error: NodeJS.ErrnoException) => settle(error.code === "ECONNREFUSED"))
  })
