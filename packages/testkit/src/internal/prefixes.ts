/** Commands that run their arguments somewhere else: in namespaces of their own, or as another user. Pure. */

/**
 * What `Faults.otherNamespace` can take a process away from.
 *
 * @category models
 * @since 0.1.0
 */
export type Namespace = "pid" | "network" | "mount" | "host" | "user"

const flags: Readonly<Record<Namespace, ReadonlyArray<string>>> = {
  // whoever kills `unshare` kills what runs in it
  pid: ["--pid", "--fork", "--kill-child", "--mount-proc"],
  network: ["--net"],
  mount: ["--mount"],
  host: ["--uts"],
  user: ["--user", "--map-root-user"]
}

/** Done inside, in this order: the host's name is set by a program that wants to see /proc. */
const preparations: ReadonlyArray<readonly [Namespace, string]> = [
  ["host", "hostname elsewhere"],
  ["mount", "mount -t tmpfs none /proc"]
]

/** Who is not root enters through a user namespace that keeps his own id, and may do the rest there. */
const entrance = ["--user", "--map-current-user", "--keep-caps"]

export const inNamespaces = (kinds: ReadonlyArray<Namespace>, root: boolean): ReadonlyArray<string> => {
  const prepare = preparations.filter(([kind]) => kinds.includes(kind)).map(([, command]) => command)
  return [
    "unshare",
    ...(root || kinds.includes("user") ? [] : entrance),
    ...new Set(kinds.flatMap((kind) => flags[kind])),
    ...(prepare.length === 0 ? [] : ["sh", "-c", [...prepare, 'exec "$@"'].join(" && "), "sh"])
  ]
}

export const asUser = (uid: number): ReadonlyArray<string> => [
  "setpriv",
  "--reuid",
  `${uid}`,
  "--regid",
  `${uid}`,
  "--clear-groups"
]
