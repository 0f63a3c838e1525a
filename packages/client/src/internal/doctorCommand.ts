/** `service doctor`: each check, what it saw, and the one thing to do. */
import { type ServiceSpec, titleOf } from "@holdfast/lifecycle/ServiceSpec"
import * as ExitCode from "@holdfast/lock/ExitCode"
import * as Command from "effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { diagnose, type Finding, gather, isFine } from "../Doctor.ts"
import { endWith, toFailure } from "./commandFailed.ts"
import { json } from "./flags.ts"

export const doctor = (spec: ServiceSpec) =>
  Command.make("doctor", { json }, ({ json }) =>
    Effect.gen(function* () {
      const findings = diagnose(yield* Effect.mapError(gather(spec), toFailure))
      const fine = isFine(findings)
      yield* Console.log(json ? JSON.stringify({ fine, findings }) : page(spec, findings))
      yield* endWith(fine ? ExitCode.ok : ExitCode.no)
    })
  ).pipe(Command.withDescription("Look at everything the service depends on; changes nothing"))

const marks = { fine: "ok", wrong: "!!", unknown: "--" } as const

const page = (spec: ServiceSpec, findings: ReadonlyArray<Finding>): string => {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.flatMap(({ action, check, saw, verdict }) => [
    `${marks[verdict]}  ${check.padEnd(width)}  ${saw}`,
    ...(action === undefined ? [] : [`${" ".repeat(width + 6)}${action}`])
  ])
  const wrong = findings.filter(({ verdict }) => verdict === "wrong").length
  const summary =
    wrong === 0
      ? `Nothing is wrong with ${titleOf(spec)}.`
      : `${wrong === 1 ? "One thing needs" : `${wrong} things need`} doing; begin with the first.`
  return [...lines, summary].join("\n")
}
