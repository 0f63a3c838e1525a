import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as ServiceCommand from "@holdfast/client/ServiceCommand"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { spec } from "./service.ts"
Command.make("my-service").pipe(
  Command.withSubcommands([ServiceCommand.make(spec)]),
  Command.run({ version: spec.version }),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
