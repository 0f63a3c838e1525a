import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as ServiceCommand from "@holdfast/client/ServiceCommand"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { hello } from "./service.ts"
Command.make("hello").pipe(
  Command.withSubcommands([ServiceCommand.make(hello)]),
  Command.run({ version: hello.version }),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
