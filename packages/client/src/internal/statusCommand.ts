/** `service status`: one look, as a sentence or as JSON, and as an exit code. */
import { type ServiceSpec, titleOf } from "@holdfast/lifecycle/ServiceSpec"
import { oneLine } from "@holdfast/lock/Problem"
import type { ServicePaths } from "@holdfast/lock/ServicePaths"
import * as Command from "effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { ServiceClient } from "../ServiceClient.ts"
import type { ServiceState } from "../ServiceState.ts"
import * as StatusText from "../StatusText.ts"
import { checkFiles, endWith } from "./commandFailed.ts"
import { json } from "./flags.ts"
import { isNewer, programOf } from "./surroundings.ts"
import { codeOf, ended, type Files, filesOf, patienceMs, unanswered } from "./statusCode.ts"

export const status = (spec: ServiceSpec) =>
  Command.make("status", { json }, ({ json }) =>
    Effect.gen(function* () {
      const { paths, seen } = yield* checkFiles(spec, "directory and secret")
      const state = yield* Effect.timeoutOrElse((yield* ServiceClient).state, {
        duration: patienceMs,
        orElse: () => Effect.succeed(unanswered(seen))
      })
      const around = yield* Effect.sync(() => aroundOf(spec, paths))
      yield* Console.log(json ? JSON.stringify(state) : sentenceOf(state, spec, around))
      yield* endWith(codeOf(state, around))
    }).pipe(Effect.provide(ServiceClient.layer(spec, { access: "observe" })))
  ).pipe(Command.withDescription("Say how the background service is; starts nothing"))

/** What the files say about the owner, and whether the program on disk was changed since it started. */
export interface Around extends Files {
  readonly changed: boolean
}

const aroundOf = (spec: ServiceSpec, paths: ServicePaths): Around => {
  const files = filesOf(paths)
  return { ...files, changed: isNewer(programOf(spec.entry), files.holder) }
}

/** One look, in words: unlike `StatusText`, nobody is waiting or starting anything. */
export const sentenceOf = (state: ServiceState, spec: ServiceSpec, around: Around): string => {
  const title = titleOf(spec)
  const { holder } = around
  if (state.health !== null) return sentenceOfOwner(state, state.health, spec, around)
  if (holder._tag === "Elsewhere") {
    return `${title} runs on host ${holder.host}, or did; that cannot be told from here.`
  }
  if (state.status.type === "missing") {
    switch (holder._tag) {
      case "Here":
        return `${title} runs (PID ${holder.note.pid}) and is not registered at the moment; it will be within seconds.`
      case "Unknown":
        return `${title} may run (PID ${holder.note.pid}), in another container or as another user; that cannot be told from here.`
      case "Nobody":
        return `${title} is not running.`
    }
  }
  if (state.status.type === "unreachable" && state.status.protocol === "other") {
    const { action, text } = StatusText.line(state, spec)
    return `${text} ${action}`
  }
  if (holder._tag === "Unknown") {
    return `${title} does not answer, and whether it runs (PID ${holder.note.pid}) cannot be told from here.`
  }
  return ended(around)
    ? `${title} is not running. It ended without being stopped.`
    : `${title} does not answer. If it stays so, run \`${spec.app} service restart\`.`
}

const sentenceOfOwner = (
  state: ServiceState,
  { pid, status, version }: NonNullable<ServiceState["health"]>,
  spec: ServiceSpec,
  { changed }: Around
): string => {
  const owner = `${titleOf(spec)} v${version}`
  const differs = version !== spec.version
  switch (status.type) {
    case "ready":
    case "stopping": {
      const is = status.type === "ready" ? "is ready" : "is stopping"
      const words = differs ? [`this program is v${spec.version}`] : changed ? ["its program was changed since"] : []
      return oneLine(`${[`${owner} ${is} (PID ${pid})`, ...words].join("; ")}.`)
    }
    case "starting":
    case "failed": {
      const { action = "", text } = StatusText.line(state, spec)
      const versions = differs ? `It is v${version}; this program is v${spec.version}.` : ""
      return oneLine([text, `(PID ${pid})`, action, versions].filter((part) => part !== "").join(" "))
    }
  }
}
