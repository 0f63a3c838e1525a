/** The owner of a service: who it is, whether it answers, and what it keeps. */
import type { Facts } from "./facts.ts"
import { ago, broken, fine, type Finding, unknown, wrong } from "./finding.ts"

type About = (facts: Facts) => Omit<Finding, "check">

const answers = ({ endpoint }: Facts): boolean => endpoint._tag === "Answered"

/** Nobody is known to run, and nobody is known who might. */
const isDeserted = (facts: Facts): boolean =>
  facts.holder._tag === "Nobody" &&
  !answers(facts) &&
  (facts.registration._tag !== "Seen" || facts.registered === "dead")

/** Its records are still on their way. */
const isYoung = ({ holder, now }: Facts): boolean =>
  holder._tag === "Here" && Math.abs(now - holder.note.startedAt) < 5000

const restart = ({ spec }: Facts): string => `Run \`${spec.app} service restart\`.`
const again = ({ spec }: Facts): string =>
  `Run this again in 10 s; if it stays so, run \`${spec.app} service restart\`.`

const day = (ms: number): string => new Date(Math.min(Math.max(ms, 0), 8.64e15)).toISOString()

export const aboutHolder: About = (facts) => {
  const { holder, note } = facts
  switch (holder._tag) {
    case "Here":
      return fine(`PID ${holder.note.pid} since ${day(holder.note.startedAt)}, instance ${holder.note.instanceID}`)
    case "Elsewhere":
      return wrong(
        `It runs on host ${holder.host}, or did; that cannot be told from here.`,
        "Run this on that host, or name a directory of this machine."
      )
    case "Unknown":
      if (answers(facts)) return fine(`PID ${holder.note.pid}, in another container or as another user`)
      return wrong(
        `PID ${holder.note.pid}, which cannot be seen from here.`,
        "Run this in the container, or as the user, that it was started in."
      )
    case "Nobody":
      if (note._tag === "Unreadable") return broken(note.problem)
      if (answers(facts)) return wrong("It answers, and its note does not say who it is.", again(facts))
      if (note._tag === "Seen") return fine(`nobody; PID ${note.value.pid} has ended without being stopped`)
      return fine(note._tag === "Garbage" ? "nobody; the note is of no use, and a start replaces it" : "nobody")
  }
}

export const aboutRegistration: About = (facts) => {
  const { registered, registration } = facts
  switch (registration._tag) {
    case "Unreadable":
      return broken(registration.problem)
    case "Seen": {
      const { pid, url } = registration.value
      return fine(registered === "dead" ? `of PID ${pid}, which has ended; a start replaces it` : `${url}, PID ${pid}`)
    }
    case "Absent":
    case "Garbage": {
      const saw = registration._tag === "Absent" ? "none" : "of no use"
      if (isYoung(facts)) return fine(`${saw} yet; it has just started`)
      if (facts.holder._tag === "Here") return wrong(`${saw}, and its owner puts it back within 5 s`, again(facts))
      return fine(registration._tag === "Absent" ? saw : `${saw}; a start replaces it`)
    }
  }
}

export const aboutEndpoint: About = (facts) => {
  const { endpoint, registration } = facts
  switch (endpoint._tag) {
    case "NotAsked":
      // without a secret, or elsewhere: another finding says what to do
      return isDeserted(facts) ? fine(`not asked: ${endpoint.why}`) : unknown(`not asked: ${endpoint.why}`)
    case "Answered": {
      const { status } = endpoint.health
      if (status.type === "failed") return broken(status)
      const progress = status.type === "starting" && status.progress !== undefined ? `: ${status.progress}` : ""
      return fine(`it answers: ${status.type}${progress}`)
    }
    case "Unreachable": {
      const url = registration._tag === "Seen" ? registration.value.url : ""
      // whoever holds it is not of this place, and neither is its port
      if (facts.holder._tag === "Unknown") return unknown(`not reached at ${url} from here: ${endpoint.why}`)
      if (endpoint.silent) return wrong(`It does not answer at ${url}.`, again(facts))
      return wrong(`The service is not at ${url}: ${endpoint.why}.`, restart(facts))
    }
  }
}

export const aboutSecret: About = (facts) => {
  const { secret } = facts
  switch (secret) {
    case "Secret":
      return fine("there, and readable by you alone")
    case "Absent":
    case "Malformed": {
      const saw = secret === "Absent" ? "none" : "not a secret"
      return isDeserted(facts)
        ? fine(`${saw}; a start makes one`)
        : wrong(`${saw}, and its owner puts it back within 5 s`, again(facts))
    }
    default:
      return broken(secret)
  }
}

export const aboutLease: About = (facts) => {
  const { holder, lease, now } = facts
  switch (lease._tag) {
    case "Absent":
      return holder._tag === "Here" ? wrong("none, and its owner puts it back within 10 s", again(facts)) : fine("none")
    case "Unusable":
      return broken(lease)
    case "Row": {
      const epoch = `epoch ${lease.epoch}`
      if (lease.holder === null) return fine(`${epoch}, held by nobody`)
      const held = `${epoch}, held by PID ${lease.holder.pid}`
      if (holder._tag !== "Here") return fine(`${held}, renewed ${ago(now - lease.holder.heartbeatAt)} ago`)
      if (lease.holder.instanceID !== holder.note.instanceID) {
        return wrong(`${held}, which is not who holds the lock.`, again(facts))
      }
      const late = now - lease.holder.expiresAt
      return late > 0
        ? wrong(`${held}, and ran out ${ago(late)} ago.`, again(facts))
        : fine(`${held}, renewed ${ago(now - lease.holder.heartbeatAt)} ago`)
    }
  }
}

/** A machine's clock is corrected by less. */
const clockToleranceMs = 5000

export const aboutClock: About = ({ holder, lease, now }) => {
  const written = [
    ...(holder._tag === "Here" ? [holder.note.startedAt] : []),
    ...(lease._tag === "Row" && lease.holder !== null ? [lease.holder.heartbeatAt] : [])
  ]
  const ahead = Math.max(...written.map((at) => at - now), 0)
  return ahead > clockToleranceMs
    ? wrong(
        `It was ${ago(ahead)} later when the service wrote its files: the clock was set back.`,
        "Check this machine's clock."
      )
    : fine(day(now))
}
