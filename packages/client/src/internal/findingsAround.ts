/** What is around a service: this program and the one on disk, the environment, and the log. */
import type { Facts } from "./facts.ts"
import { isNewer } from "./surroundings.ts"
import { broken, fine, type Finding, wrong } from "./finding.ts"

type About = (facts: Facts) => Omit<Finding, "check">

/** Of who runs; a registration that a dead owner left says nothing about now. */
const runningVersion = ({ endpoint, registered, registration }: Facts): string | undefined => {
  if (endpoint._tag === "Answered") return endpoint.health.version
  return registration._tag === "Seen" && registered === "alive" ? registration.value.version : undefined
}

export const aboutVersion: About = (facts) => {
  const { holder, program, spec } = facts
  const ours = `this program is v${spec.version}`
  if (program !== undefined && program.modifiedAt === undefined) {
    return wrong(`${ours}, and the service's program ${program.file} is not there.`, `Install ${spec.app} again.`)
  }
  const running = runningVersion(facts)
  if (running === undefined) return fine(ours)
  const restart = `Run \`${spec.app} service restart\`.`
  if (running !== spec.version) return wrong(`v${running} runs, and ${ours}.`, restart)
  if (isNewer(program, holder)) {
    return wrong(`v${running} runs, and its program ${program!.file} was changed since it started.`, restart)
  }
  return fine(`v${running} runs, as this program is`)
}

export const aboutEnvironment: About = ({ environment }) => {
  const { channel, home, kept, profile, recordedHome, stateDir } = environment
  const words = [
    ...(home !== recordedHome && recordedHome !== undefined
      ? [`HOME is ${home ?? "not set"} and the password database says ${recordedHome}, which counts`]
      : []),
    ...(stateDir.value ? [`${stateDir.name} is set`] : []),
    ...(channel === "stable" ? [] : [`the channel is ${channel}`]),
    ...(profile === "default" ? [] : [`the profile is ${profile}`]),
    ...(kept.length === 0 ? [] : [`a service does not get ${kept.join(", ")}`])
  ]
  return fine(words.length === 0 ? "nothing that changes anything" : words.join("; "))
}

const isStart = (line: string): boolean => /^\S+ INFO {2}\S+ starting /.test(line)
const isError = (line: string): boolean => /^\S+ (ERROR|FATAL) /.test(line)

export const aboutLog: About = ({ endpoint, log, spec }) => {
  switch (log._tag) {
    case "Absent":
      return fine("no log yet")
    case "Garbage":
      return fine("nothing to read")
    case "Unreadable":
      return broken(log.problem)
    case "Seen": {
      const latest = log.value.slice(Math.max(log.value.findLastIndex(isStart), 0))
      const ready = endpoint._tag === "Answered" && endpoint.health.status.type === "ready"
      const error = ready ? undefined : latest.findLast(isError)
      return error === undefined ? fine(latest.at(-1) || "empty") : wrong(error, `Run \`${spec.app} service logs\`.`)
    }
  }
}
