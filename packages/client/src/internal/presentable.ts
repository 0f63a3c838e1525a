/** What leaves the promise seam: an error with a sentence and an action, whatever went wrong inside. */
import { oneLine } from "@holdfast/lock/Problem"
import * as Cause from "effect/Cause"
import { isHttpClientError } from "effect/http/HttpClientError"
import { Unexpected } from "../ClientError.ts"

/** A tagged error as it is; anything else as `Unexpected`; an end from outside as the abort that it is. */
export const presentable = (cause: Cause.Cause<unknown>): unknown => {
  if (Cause.hasInterruptsOnly(cause)) return ended()
  const error = Cause.squash(cause)
  return isPresentable(error) ? error : unexpected(error)
}

export const ended = (): DOMException => new DOMException("The service client has ended.", "AbortError")

const isPresentable = (error: unknown): boolean =>
  error instanceof Error && typeof (error as { readonly action?: unknown }).action === "string"

const unexpected = (error: unknown): Unexpected => {
  const words = oneLine(error instanceof Error ? error.message : String(error))
    .trim()
    .slice(0, 300)
  return new Unexpected({
    // a request carries the service's token
    cause: isHttpClientError(error) ? error.reason.cause : error,
    message: `Something unexpected went wrong${words === "" ? "." : `: ${words}`}`,
    action: "Try again. If it stays so, report it."
  })
}
