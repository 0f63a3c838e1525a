/** Finding the owner, before Effect is loaded: its files, and a proof that it is the one. */
import { addressIn, attach, type Attached, health, type Session } from "@holdfast/lifecycle/Credential"
import { parseRegistration } from "@holdfast/lifecycle/StartupOutcome"
import * as files from "@holdfast/lock/files"
import * as identity from "@holdfast/lock/identity"
import * as OwnerNote from "@holdfast/lock/OwnerNote"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import type { Found } from "./decide.ts"
import { type Look, look } from "./look.ts"

type Finding = Found | Extract<Look, { readonly _tag: "Unusable" }>

export interface Discovering {
  /** Never rejects. The signal ends it at once, with an answer that means nothing. */
  readonly find: (signal?: AbortSignal) => Promise<Finding>
  readonly adopt: (brought: Pick<Session, "registration" | "token">) => void
  readonly session: () => Session | undefined
}

/** For each round with somebody who has proved nothing yet: a look that a stranger holds up is over within two seconds. */
const proofMs = 1200

/** A dead owner is never dialled: its port may be anybody's by now. */
const isDead = (paths: ServicePaths, instanceID: string): boolean => {
  const note = OwnerNote.read(paths.owner)
  return note?.instanceID === instanceID && identity.state(note) === "dead"
}

const gone = ({ note, owner, registration }: Extract<Look, { readonly _tag: "Registered" }>): Finding => ({
  _tag: "Unreachable",
  registration,
  owner,
  note,
  why: "its process is gone",
  silent: false
})

export const make = (paths: ServicePaths): Discovering => {
  let known: Session | undefined
  const probe = async (
    seen: Extract<Look, { readonly _tag: "Registered" }>,
    signal: AbortSignal | undefined
  ): Promise<Attached> => {
    const { registration, secret } = seen
    if (known?.registration.instanceID === registration.instanceID && known.registration.url === registration.url) {
      const answer = await health(known, signal)
      if (answer._tag === "Attached") return answer
      // after a connection error somebody else may listen there: what is asked next is a proof, not the token
      if (answer._tag === "Expired" || !answer.silent) known = undefined
      if (answer._tag !== "Expired") return answer
    }
    const attached = await attach(registration, secret, { directory: paths.directory, timeoutMs: proofMs, signal })
    if (attached._tag === "Attached") known = attached.session
    return attached
  }
  const findOnce = async (signal: AbortSignal | undefined): Promise<Finding> => {
    const seen = look(paths)
    if (seen._tag !== "Registered") return seen
    const { note, owner, registration } = seen
    if (owner === "dead") return gone(seen)
    const attached = await probe(seen, signal)
    if (attached._tag === "Attached") {
      return { _tag: "Reachable", session: attached.session, health: attached.health, note }
    }
    return { ...attached, registration, owner, note }
  }
  return {
    find: async (signal) => {
      const found = await findOnce(signal)
      if (found._tag !== "Unreachable" || found.silent || found.owner === "dead" || signal?.aborted === true)
        return found
      // it may have left, or been followed by another, while it was dialled
      const seen = look(paths)
      if (seen._tag !== "Registered") return seen
      if (seen.registration.instanceID !== found.registration.instanceID) return findOnce(signal)
      return seen.owner === "dead" ? gone(seen) : found
    },
    adopt: ({ registration, token }) => {
      const address = addressIn(paths.directory, registration.url)
      if (address !== undefined) known = { registration, address, token }
    },
    session: () => {
      if (known !== undefined && isDead(paths, known.registration.instanceID)) known = undefined
      const reading = files.read(paths.registration)
      const registered = reading._tag === "Text" ? parseRegistration(reading.text)?.instanceID : undefined
      // a registration that is only missing heals by itself; one that names another owner ends the session
      return registered === undefined || registered === known?.registration.instanceID ? known : undefined
    }
  }
}
