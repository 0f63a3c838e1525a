/** The application in this process, behind the same client: an index of its own, in a directory that goes with it. */
import { fromEffect, type PromiseServiceClient } from "@holdfast/client/promise"
import { ServiceClient } from "@holdfast/client/ServiceClient"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as ManagedRuntime from "effect/ManagedRuntime"
import application from "../application.ts"
import { codesearch } from "../service.ts"

export const standalone = async (): Promise<PromiseServiceClient> => {
  const service = ServiceClient.layerInProcess(codesearch, application)
  // what it would log has no place on the screen
  const runtime = ManagedRuntime.make(service.pipe(Layer.provide(Logger.layer([]))))
  const client = fromEffect(await runtime.context())
  const dispose = async () => {
    await client.dispose()
    await runtime.dispose()
  }
  return { ...client, dispose }
}
